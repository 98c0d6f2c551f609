#include "regard/threads.h"

#include "capi/boundary.h"

namespace {

class PoolOfCallback : public regard::ThreadPool {
 public:
  PoolOfCallback(regard_run_loops run, int32_t threads, void* user)
      : run_(run), threads_(threads), user_(user) {}

  int threads() const noexcept override { return threads_; }

  void Run(int loops, const std::function<void(int)>& loop) override {
    run_(loops, CallLoop, const_cast<std::function<void(int)>*>(&loop), user_);
  }

 private:
  static void CallLoop(int32_t index, void* context) {
    (*static_cast<const std::function<void(int)>*>(context))(index);
  }

  regard_run_loops run_;
  int32_t threads_;
  void* user_;
};

}  // namespace

regard_status regard_set_thread_pool(regard_run_loops run, int32_t threads,
                                     void* user) {
  return regard::Guard("regard_set_thread_pool", [&] {
    regard::SetThreadPool(
        run == nullptr ? nullptr
                       : std::make_shared<PoolOfCallback>(run, threads, user));
  });
}
