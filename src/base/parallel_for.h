// One pool of threads for the whole library, behind one function.
#ifndef REGARD_SRC_BASE_PARALLEL_FOR_H_
#define REGARD_SRC_BASE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>
#include <string>

namespace regard::inline v0 {

// Error (kArgument) about `subject` for a negative number of threads.
void CheckThreads(int threads, const std::string& subject);

// Number of threads a call uses for `requested` (0: those of the host's pool if
// there is one; otherwise OMP_NUM_THREADS if valid, or all cores this process
// may run on). Error (kArgument) below 0.
int ResolveThreads(int requested);

// Calls body(task, worker) for every task in [0, tasks), on at most `threads`
// threads (0: all). Workers count from 0 and are below ResolveThreads(threads);
// one worker runs one task at a time. Tasks are handed out in order. Returns
// when all are done.
//
// What a task throws is rethrown here (the first one; tasks not yet started are
// dropped). Nested calls run serially on their own thread. Calls from several
// host threads at once are fine. A forked child starts with fresh workers. When
// threads can't be started, fewer do the work. With a pool of the host
// (regard/threads.h), its threads do it.
void ParallelFor(int64_t tasks, int threads,
                 const std::function<void(int64_t task, int worker)>& body);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_PARALLEL_FOR_H_
