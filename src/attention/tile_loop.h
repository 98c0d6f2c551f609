// The tile loop: every score tile that the mask leaves, computed once and
// handed to its consumers (output and log-sum-exp in a first pass, weights in a
// second one).
#ifndef REGARD_SRC_ATTENTION_TILE_LOOP_H_
#define REGARD_SRC_ATTENTION_TILE_LOOP_H_

#include <cstddef>
#include <cstdint>

#include "attention/kernel_list.h"
#include "attention/kernels/flash_ops.h"
#include "attention/problem.h"

namespace regard::inline v0 {

// Sizes of the packed copies and of each worker's memory, in elements of T
// unless they say bytes.
//
// Keys and values of one kv head are packed once and serve all query blocks and
// all query heads of the group. They are packed for a wave of kv heads at a
// time, of any sequences, so that scratch stays near kWaveBytes, and linear in
// the length always.
template <typename T>
struct TileGeometry {
  TileGeometry(const Problem& problem, const Workload& work,
               const FlashOps<T>& ops, int threads);

  int64_t block_queries;  // whole strips
  int64_t columns;        // Dv, rounded up to whole vectors
  int64_t depth;          // cells of D
  int64_t panel, pair;    // keys of a panel; elements of a cell
  int64_t worker_elements;
  int64_t worker_bytes;
  int64_t most_heads;     // of a wave
  int64_t fixed_bytes;    // beside what is packed
  int64_t scratch_bytes;  // with room for a good wave

  // What is packed of one kv head: keys, values, the classes of its blocks.
  int64_t PackedKeys(int64_t keys) const;
  int64_t PackedValues(int64_t keys) const;
  int64_t PackedBytes(int64_t keys) const;
};

// Runs the sequences of `run` in its scratch, which holds fixed_bytes and the
// longest of them.
template <typename T>
void RunTileLoop(const Problem& problem, const Outputs& outputs,
                 const FlashOps<T>& ops, const KernelRun& run);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_LOOP_H_
