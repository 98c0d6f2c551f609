// A program that has threads of its own lends them to Regard.
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "regard/attention.h"
#include "regard/threads.h"

namespace {

// What such a program has: threads that take jobs from a queue.
class Workers {
 public:
  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this](std::stop_token stop) { Work(stop); });
    }
  }
  int count() const { return static_cast<int>(threads_.size()); }
  static bool IsOneOfThem() { return inside_; }

  void Submit(std::function<void()> job) {
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    work_.notify_one();
  }

 private:
  void Work(std::stop_token stop) {
    inside_ = true;
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!work_.wait(lock, stop, [&] { return !jobs_.empty(); })) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  }

  static thread_local bool inside_;
  std::mutex mutex_;
  std::condition_variable_any work_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::jthread> threads_;
};

thread_local bool Workers::inside_ = false;

class LentThreads : public regard::ThreadPool {
 public:
  explicit LentThreads(Workers& workers) : workers_(workers) {}

  int threads() const noexcept override { return workers_.count(); }

  void Run(int loops, const std::function<void(int)>& loop) override {
    // A worker that waited for the queue could wait for itself.
    if (Workers::IsOneOfThem()) {
      for (int i = 0; i < loops; ++i) loop(i);
      return;
    }
    std::latch done(loops);
    for (int i = 0; i < loops; ++i) {
      workers_.Submit([&, i] {
        loop(i);
        done.count_down();
      });
    }
    done.wait();
  }

 private:
  Workers& workers_;
};

}  // namespace

int main() {
  // [B, H, L, D]: 8 heads of 300 tokens.
  regard::Tensor x(regard::DType::kF32, {1, 8, 300, 64});
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    x.AsMutable<float>()[i] = static_cast<float>(i % 101) / 50 - 1;
  }
  regard::AttentionProblem problem;
  problem.q = problem.k = problem.v = x;
  problem.mask = regard::Mask::Causal();
  const regard::AttentionResult own = regard::Attend(problem);

  Workers workers(3);
  regard::SetThreadPool(std::make_shared<LentThreads>(workers));
  const regard::AttentionResult lent = regard::Attend(problem);
  std::latch finished(1);
  regard::AttentionResult inside;
  workers.Submit([&] {  // from one of the threads themselves
    inside = regard::Attend(problem);
    finished.count_down();
  });
  finished.wait();
  regard::SetThreadPool(nullptr);  // before the workers go

  const size_t bytes =
      static_cast<size_t>(own.out.NumElements()) * sizeof(float);
  const auto same = [&](const regard::AttentionResult& other) {
    return std::memcmp(own.out.As<float>(), other.out.As<float>(), bytes) == 0;
  };
  std::printf("same bits on lent threads: %s, from inside of them: %s\n",
              same(lent) ? "yes" : "no", same(inside) ? "yes" : "no");
}
