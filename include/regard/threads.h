// Who does the work: Regard's own threads, or a pool of the host program.
#ifndef REGARD_THREADS_H_
#define REGARD_THREADS_H_

#include <functional>
#include <memory>

namespace regard::inline v0 {

// Threads of the host program. Regard hands a call's work over as a few loops,
// which take pieces from one list until it is empty: whichever loops run, at
// once, one after the other, or late, all pieces are done, with the same bits.
class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  // How many loops run at once, 1 or more: what 0 threads in a call's options
  // means then. A call may ask for fewer, or for more.
  virtual int threads() const noexcept = 0;
  // Calls loop(0), ..., loop(loops - 1), each once, from any threads and in any
  // order; returns when all of them have returned. None throws, or waits for
  // another one.
  //
  // Comes from the thread that called Regard, and from several at once when
  // several do. If one of them can be a thread of this pool, Run must not wait
  // for that thread: let it run loops itself, or ask for 1 thread in such
  // calls, for which no pool is used. Calls of Regard from inside a loop (from
  // a callback) run on their own thread and don't come here.
  //
  // What Run throws is passed on, after all loops have returned.
  virtual void Run(int loops, const std::function<void(int loop)>& loop) = 0;
};

// From now on, calls on any thread use this pool; nullptr: Regard's own, as at
// first. A call that has begun keeps the pool it began with, which lives as
// long. A forked child inherits the choice: whose pool has no threads there
// sets another one.
void SetThreadPool(std::shared_ptr<ThreadPool> pool);

}  // namespace regard::inline v0

#endif  // REGARD_THREADS_H_
