#include "base/parallel_for.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "regard/error.h"
#include "regard/threads.h"

namespace regard::inline v0 {

namespace {

// More than any machine's cores; keeps a mistyped number from starting a
// million threads.
constexpr int kMaxThreads = 1024;

int AllowedCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The first number of OMP_NUM_THREADS ("4" or "4,2"); 0 when unset or invalid.
int ThreadsFromEnvironment() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (text == nullptr) return 0;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || (*end != '\0' && *end != ',') || value < 1) return 0;
  return static_cast<int>(std::min<long>(value, kMaxThreads));
}

// One call of ParallelFor; lives on the caller's stack.
struct Job {
  int64_t tasks;
  const std::function<void(int64_t, int)>* body;
  int max_helpers;
  std::atomic<int64_t> next{0};
  // Changed under the pool's mutex; the caller looks at `active` without it,
  // too.
  int joined = 0;              // helpers that ever joined
  std::atomic<int> active{0};  // helpers at work
  // The first one that a task threw.
  std::mutex error_mutex;
  std::exception_ptr error;
};

thread_local bool inside_task = false;

// Runs tasks of the job until none is left.
void Work(Job& job, int worker) noexcept {
  const bool before = inside_task;
  inside_task = true;
  try {
    for (int64_t task; (task = job.next.fetch_add(1)) < job.tasks;) {
      (*job.body)(task, worker);
    }
  } catch (...) {
    job.next.store(job.tasks);
    std::lock_guard lock(job.error_mutex);
    if (!job.error) job.error = std::current_exception();
  }
  inside_task = before;
}

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits awake for what is probably about to happen, for about as long as going
// to sleep and being woken take: often the next job follows at once, and tasks
// of one size end together. Doesn't yield its core: on a busy one it might come
// back much later than somebody who is woken.
template <typename Condition>
void Watch(const Condition& condition) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kWakeUp = std::chrono::microseconds(50);
  const auto end = Clock::now() + kWakeUp;
  while (!condition() && Clock::now() < end) Pause();
}

// Keeps a few threads off the core of the thread that waits for them. A kernel
// may wake a thread on the waker's core while another one is idle, and where it
// doesn't level out its cores (small virtual machines) the two share that one
// to the end: half the speed.
class Placement {
 public:
  Placement() { known_ = sched_getaffinity(0, sizeof(all_), &all_) == 0; }

  // Of many threads, one in the caller's way is a small loss, and telling each
  // of them a large one.
  void Avoid(int core, const std::vector<pthread_t>& threads) {
    if (!known_ || core < 0 || threads.size() > kMostThreads) return;
    if (core == avoided_ && threads.size() == told_) return;
    cpu_set_t others = all_;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) == 0) return;
    for (const pthread_t thread : threads) {
      pthread_setaffinity_np(thread, sizeof(others), &others);
    }
    avoided_ = core;
    told_ = threads.size();
  }

 private:
  static constexpr size_t kMostThreads = 8;
  cpu_set_t all_;  // those of the thread that made the pool
  bool known_;
  int avoided_ = -1;
  size_t told_ = 0;
};

class Pool {
 public:
  void Run(Job& job) {
    if (Post(job)) work_.notify_all();
    Work(job, 0);
    std::unique_lock lock(mutex_);
    Withdraw(job);
    if (job.active != 0 && WaitAwake()) {
      lock.unlock();
      Watch([&] { return job.active == 0; });
      // The last helper may still hold the mutex, and the job with it.
      lock.lock();
    }
    done_.wait(lock, [&] { return job.active == 0; });
    --callers_;
  }

 private:
  // Shares the job, unless callers have all cores: a helper would only keep one
  // of them from its own.
  bool Post(Job& job) {
    std::lock_guard lock(mutex_);
    if (++callers_ >= cores_) return false;
    StartWorkers(job.max_helpers);
    placement_.Avoid(sched_getcpu(), workers_);
    jobs_.push_back(&job);
    has_jobs_ = true;
    return true;
  }

  void StartWorkers(int wanted) {
    workers_.reserve(static_cast<size_t>(wanted));  // not once one has started
    while (static_cast<int>(workers_.size()) < wanted) {
      try {
        std::thread worker([this] { WorkerLoop(); });
        workers_.push_back(worker.native_handle());
        worker.detach();
      } catch (const std::system_error&) {
        return;  // fewer threads do the work
      }
    }
  }

  // Not where a thread that waits may keep another one from its core.
  bool WaitAwake() const {
    return static_cast<int>(workers_.size()) + callers_ <= cores_;
  }

  void Withdraw(Job& job) {
    const auto at = std::find(jobs_.begin(), jobs_.end(), &job);
    if (at != jobs_.end()) jobs_.erase(at);
    has_jobs_ = !jobs_.empty();
  }

  void WorkerLoop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      const int worker = ++job.joined;
      ++job.active;
      if (job.joined == job.max_helpers) Withdraw(job);
      lock.unlock();
      Work(job, worker);
      lock.lock();
      Withdraw(job);  // no task is left for anybody else
      if (--job.active == 0) done_.notify_all();
      if (!jobs_.empty() || !WaitAwake()) continue;
      lock.unlock();
      Watch([&] { return has_jobs_.load(); });
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<Job*> jobs_;
  std::atomic<bool> has_jobs_{false};
  std::vector<pthread_t> workers_;  // they never end
  int callers_ = 0;                 // in Run
  const int cores_ = AllowedCores();
  Placement placement_;
};

// Never destroyed: detached workers wait in it until the process ends. A forked
// child has none of them, so it forgets the pool (whose mutex somebody may have
// held at that moment) and makes its own.
std::atomic<Pool*> the_pool{nullptr};

Pool& ThePool() {
  Pool* pool = the_pool.load();
  if (pool != nullptr) return *pool;
  Pool* fresh = new Pool;
  if (the_pool.compare_exchange_strong(pool, fresh)) {
    static std::once_flag once;
    std::call_once(once, [] {
      pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
    });
    return *fresh;
  }
  delete fresh;
  return *pool;
}

// The host's pool. Never destroyed, as a call may be going on when the process
// ends. A fork waits until nobody holds the mutex, so that the child finds it
// free.
struct HostPool {
  std::mutex mutex;
  std::shared_ptr<ThreadPool> pool;
};

std::atomic<bool> host_pool_is_set{false};

HostPool& TheHostPool() {
  static HostPool& host = *new HostPool;
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork([] { TheHostPool().mutex.lock(); },
                   [] { TheHostPool().mutex.unlock(); },
                   [] { TheHostPool().mutex.unlock(); });
  });
  return host;
}

// nullptr when the host has set none.
std::shared_ptr<ThreadPool> CurrentHostPool() {
  if (!host_pool_is_set.load()) return nullptr;
  HostPool& host = TheHostPool();
  std::lock_guard lock(host.mutex);
  return host.pool;
}

void RunOnHost(ThreadPool& pool, Job& job) {
  pool.Run(job.max_helpers + 1, [&job](int loop) { Work(job, loop); });
  // Loops that the pool left out leave nothing undone.
  Work(job, 0);
}

}  // namespace

void SetThreadPool(std::shared_ptr<ThreadPool> pool) {
  if (pool != nullptr && pool->threads() < 1) {
    throw Error(ErrorKind::kArgument, "SetThreadPool: pool",
                "has " + std::to_string(pool->threads()) + " threads",
                "tell how many loops it runs at once, 1 or more");
  }
  HostPool& host = TheHostPool();
  {
    std::lock_guard lock(host.mutex);
    host_pool_is_set.store(pool != nullptr);
    host.pool.swap(pool);
  }
  // The former one ends here, outside the lock.
}

void CheckThreads(int threads, const std::string& subject) {
  if (threads >= 0) return;
  throw Error(ErrorKind::kArgument, subject,
              std::to_string(threads) + " is negative", "use 0 for all cores");
}

int ResolveThreads(int requested) {
  CheckThreads(requested, "threads");
  if (const std::shared_ptr<ThreadPool> host = CurrentHostPool();
      host != nullptr && requested == 0) {
    return std::clamp(host->threads(), 1, kMaxThreads);
  }
  if (requested > 0) return std::min(requested, kMaxThreads);
  const int from_environment = ThreadsFromEnvironment();
  return from_environment > 0 ? from_environment : AllowedCores();
}

void ParallelFor(int64_t tasks, int threads,
                 const std::function<void(int64_t, int)>& body) {
  const int64_t workers = std::min<int64_t>(ResolveThreads(threads), tasks);
  if (workers <= 1 || inside_task) {
    for (int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  Job job{.tasks = tasks,
          .body = &body,
          .max_helpers = static_cast<int>(workers) - 1,
          .error_mutex = {},
          .error = nullptr};
  if (const std::shared_ptr<ThreadPool> host = CurrentHostPool()) {
    RunOnHost(*host, job);
  } else {
    ThePool().Run(job);
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace regard::inline v0
