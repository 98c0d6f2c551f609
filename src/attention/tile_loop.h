// The tile loop: every score tile that the mask leaves, computed once and
// handed to its consumers (output and log-sum-exp in a first pass, weights in a
// second one).
#ifndef REGARD_SRC_ATTENTION_TILE_LOOP_H_
#define REGARD_SRC_ATTENTION_TILE_LOOP_H_

#include "attention/kernel_list.h"
#include "attention/kernels/flash_ops.h"
#include "attention/problem.h"

namespace regard::inline v0 {

// Runs the sequences of `run` in its scratch, which holds fixed_bytes and the
// longest of them.
template <typename T>
void RunTileLoop(const Problem& problem, const Outputs& outputs,
                 const FlashOps<T>& ops, const KernelRun& run);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_LOOP_H_
