#include "base/parallel_for.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "regard/error.h"
#include "regard/threads.h"

namespace regard::inline v0 {
namespace {

TEST(ParallelForTest, EveryTaskOnceWithOneWorkerEach) {
  for (const int threads : {1, 2, 3, 5, 8}) {
    std::vector<std::atomic<int>> calls(1000);
    std::vector<std::atomic<int>> busy(static_cast<size_t>(threads));
    ParallelFor(1000, threads, [&](int64_t task, int worker) {
      ASSERT_LT(worker, threads);
      // A worker runs one task at a time.
      EXPECT_EQ(busy[static_cast<size_t>(worker)].fetch_add(1), 0);
      calls[static_cast<size_t>(task)].fetch_add(1);
      busy[static_cast<size_t>(worker)].fetch_sub(1);
    });
    for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
  }
  ParallelFor(0, 4, [](int64_t, int) { FAIL(); });
}

TEST(ParallelForTest, RethrowsAndGoesOn) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(ParallelFor(100, 3,
                             [](int64_t task, int) {
                               if (task == 17) throw std::runtime_error("17");
                             }),
                 std::runtime_error);
  }
  std::atomic<int> sum{0};
  ParallelFor(10, 3, [&](int64_t task, int) { sum += static_cast<int>(task); });
  EXPECT_EQ(sum.load(), 45);
}

TEST(ParallelForTest, NestedCallsAreSerial) {
  std::atomic<int> inner{0};
  ParallelFor(8, 4, [&](int64_t, int) {
    const auto self = std::this_thread::get_id();
    ParallelFor(5, 4, [&](int64_t, int worker) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      EXPECT_EQ(worker, 0);
      ++inner;
    });
  });
  EXPECT_EQ(inner.load(), 40);
}

TEST(ParallelForTest, SeveralHostThreads) {
  std::atomic<int64_t> total{0};
  std::vector<std::thread> hosts;
  for (int host = 0; host < 6; ++host) {
    hosts.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ParallelFor(20, 3, [&](int64_t task, int) { total += task; });
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(total.load(), 6 * 50 * 190);
}

// A child forked after the pool was used must not hang.
TEST(ParallelForTest, ForkedChildStartsOver) {
  std::atomic<int> before{0};
  ParallelFor(100, 4, [&](int64_t, int) { ++before; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    std::atomic<int> sum{0};
    ParallelFor(100, 4,
                [&](int64_t task, int) { sum += static_cast<int>(task); });
    _exit(sum.load() == 4950 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

cpu_set_t CoresOfThisThread() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof(cores), &cores), 0);
  return cores;
}

// Whatever core the caller is on, no other thread of the call is there.
TEST(ParallelForTest, ThreadsKeepOffTheCallersCore) {
  const cpu_set_t all = CoresOfThisThread();
  ParallelFor(2, 2, [](int64_t, int) {});  // makes the pool
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &all)) continue;
    std::thread([&] {
      cpu_set_t own;
      CPU_ZERO(&own);
      CPU_SET(core, &own);
      ASSERT_EQ(sched_setaffinity(0, sizeof(own), &own), 0);
      cpu_set_t expected = all;
      if (CPU_COUNT(&all) > 1) CPU_CLR(core, &expected);
      // Neither task ends before the other one has begun.
      std::atomic<int> begun{0};
      ParallelFor(2, 2, [&](int64_t, int worker) {
        for (++begun; begun < 2;) std::this_thread::yield();
        const cpu_set_t cores = CoresOfThisThread();
        EXPECT_TRUE(CPU_EQUAL(&cores, worker == 0 ? &own : &expected));
      });
    }).join();
  }
}

TEST(ParallelForTest, NegativeNumbersOfThreadsAreRefused) {
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string expected = "threads: -1 is negative: use 0 for all cores";
  EXPECT_EQ(message([] { ResolveThreads(-1); }), expected);
  EXPECT_EQ(message([] { ParallelFor(3, -1, [](int64_t, int) { FAIL(); }); }),
            expected);
}

// A pool of the host that starts a thread per loop.
class HostThreads : public ThreadPool {
 public:
  explicit HostThreads(int threads) : threads_(threads) {}
  ~HostThreads() override { ++ended; }

  int threads() const noexcept override { return threads_; }
  void Run(int loops, const std::function<void(int)>& loop) override {
    ++calls;
    most_loops = std::max(most_loops.load(), loops);
    std::vector<std::thread> running;
    // The last one first: any order will do.
    for (int i = loops - 1; i >= 0; --i) running.emplace_back(loop, i);
    for (std::thread& thread : running) thread.join();
  }

  std::atomic<int> calls{0}, most_loops{0};
  static inline std::atomic<int> ended = 0;

 private:
  int threads_;
};

class HostPoolTest : public testing::Test {
 protected:
  void TearDown() override { SetThreadPool(nullptr); }

  static int64_t Sum(int64_t tasks, int threads) {
    std::atomic<int64_t> sum{0};
    ParallelFor(tasks, threads, [&](int64_t task, int) { sum += task; });
    return sum.load();
  }
};

TEST_F(HostPoolTest, DoesTheWork) {
  const auto pool = std::make_shared<HostThreads>(3);
  SetThreadPool(pool);
  EXPECT_EQ(ResolveThreads(0), 3);
  EXPECT_EQ(ResolveThreads(7), 7);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<std::atomic<int>> busy(5);
  ParallelFor(1000, 5, [&](int64_t, int worker) {
    EXPECT_EQ(busy[static_cast<size_t>(worker)].fetch_add(1), 0);
    {
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    busy[static_cast<size_t>(worker)].fetch_sub(1);
  });
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
  EXPECT_EQ(pool->calls, 1);
  EXPECT_EQ(pool->most_loops, 5);
  // One thread, or one task, needs no pool.
  EXPECT_EQ(Sum(100, 1), 4950);
  EXPECT_EQ(Sum(1, 5), 0);
  EXPECT_EQ(pool->calls, 1);
  SetThreadPool(nullptr);
  EXPECT_EQ(Sum(100, 5), 4950);
  EXPECT_EQ(pool->calls, 1);
}

TEST_F(HostPoolTest, NestedCallsDontComeToIt) {
  const auto pool = std::make_shared<HostThreads>(4);
  SetThreadPool(pool);
  std::atomic<int64_t> sum{0};
  ParallelFor(8, 0, [&](int64_t, int) {
    const auto self = std::this_thread::get_id();
    ParallelFor(5, 0, [&](int64_t task, int) {
      EXPECT_EQ(std::this_thread::get_id(), self);
      sum += task;
    });
  });
  EXPECT_EQ(sum.load(), 80);
  EXPECT_EQ(pool->calls, 1);
}

TEST_F(HostPoolTest, WhatATaskThrowsComesBack) {
  SetThreadPool(std::make_shared<HostThreads>(3));
  EXPECT_THROW(ParallelFor(100, 0,
                           [](int64_t task, int) {
                             if (task == 17) throw std::runtime_error("17");
                           }),
               std::runtime_error);
  EXPECT_EQ(Sum(100, 0), 4950);
}

// A host whose pool is worse than it should be.
class PoorPool : public ThreadPool {
 public:
  int threads() const noexcept override { return count; }
  void Run(int loops, const std::function<void(int)>& loop) override {
    if (throws) throw std::runtime_error("no pool");
    for (int i = 0; i < std::min(loops, run); ++i) loop(i);
  }
  int count = 4, run = 0;
  bool throws = false;
};

TEST_F(HostPoolTest, LoopsThatItLeavesOutLeaveNothingUndone) {
  const auto pool = std::make_shared<PoorPool>();
  SetThreadPool(pool);
  for (const int run : {0, 1, 4}) {
    pool->run = run;
    EXPECT_EQ(Sum(100, 0), 4950);
  }
  pool->throws = true;
  EXPECT_THROW(Sum(100, 0), std::runtime_error);
  EXPECT_EQ(Sum(100, 1), 4950);
}

TEST_F(HostPoolTest, APoolWithoutThreadsIsRefused) {
  const auto good = std::make_shared<HostThreads>(2);
  SetThreadPool(good);
  const auto bad = std::make_shared<PoorPool>();
  bad->count = 0;
  try {
    SetThreadPool(bad);
    FAIL() << "0 threads were taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "SetThreadPool: pool: has 0 threads: tell how many loops it "
                 "runs at once, 1 or more");
  }
  Sum(100, 0);
  EXPECT_EQ(good->calls, 1);
}

// Set and taken away while calls are going on; each pool ends once.
TEST_F(HostPoolTest, ComesAndGoesWhileCallsRun) {
  HostThreads::ended = 0;
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!stop) EXPECT_EQ(Sum(20, 2), 190);
    });
  }
  for (int round = 0; round < 100; ++round) {
    SetThreadPool(std::make_shared<HostThreads>(2));
    std::this_thread::yield();
    if (round % 3 == 0) SetThreadPool(nullptr);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  SetThreadPool(nullptr);
  EXPECT_EQ(HostThreads::ended, 100);
}

TEST_F(HostPoolTest, AForkedChildMayTakeRegardsOwn) {
  SetThreadPool(std::make_shared<HostThreads>(3));
  EXPECT_EQ(Sum(100, 0), 4950);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    bool right = Sum(100, 0) == 4950;
    SetThreadPool(nullptr);
    right = right && Sum(100, 4) == 4950;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ParallelForTest, ThreadsFromTheEnvironment) {
  setenv("OMP_NUM_THREADS", "3,1", 1);
  EXPECT_EQ(ResolveThreads(0), 3);
  EXPECT_EQ(ResolveThreads(7), 7);
  setenv("OMP_NUM_THREADS", "many", 1);
  EXPECT_GE(ResolveThreads(0), 1);
  unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace regard::inline v0
