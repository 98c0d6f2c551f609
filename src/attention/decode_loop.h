// The loop for short queries: keys and values are read where they lie, once for
// all query heads of their group, and split at fixed positions among threads.
#ifndef REGARD_SRC_ATTENTION_DECODE_LOOP_H_
#define REGARD_SRC_ATTENTION_DECODE_LOOP_H_

#include "attention/decode_memory.h"
#include "attention/kernel_list.h"
#include "attention/problem.h"

namespace regard::inline v0 {

// Runs the sequences of `run` in its scratch, which holds fixed_bytes and the
// parts of the unit that has most.
template <typename T>
void RunDecodeLoop(const Problem& problem, const Outputs& outputs,
                   const DecodeTable<T>& ops, const KernelRun& run);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_DECODE_LOOP_H_
