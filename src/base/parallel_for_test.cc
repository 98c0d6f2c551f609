#include "base/parallel_for.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

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
