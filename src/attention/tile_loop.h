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
// time, so that scratch stays near kWaveBytes, and linear in the length always.
template <typename T>
struct TileGeometry {
  TileGeometry(const Problem& problem, const FlashOps<T>& ops, int threads);

  int64_t strips;                      // of a query block
  int64_t block_queries;               // strips * strip_rows
  int64_t query_blocks;                // per head
  int64_t key_blocks;                  // per kv head
  int64_t key_panels;                  // per kv head
  int64_t columns;                     // Dv, rounded up to whole vectors
  int64_t packed_keys, packed_values;  // per kv head
  int64_t wave_heads;                  // kv heads packed at a time
  int64_t worker_elements;
  int64_t worker_bytes;
  int64_t packed_bytes;  // of a wave, with its flags
  int64_t scratch_bytes;
};

// Runs the problem in scratch of TileGeometry::scratch_bytes.
template <typename T>
void RunTileLoop(const Problem& problem, const Outputs& outputs,
                 const FlashOps<T>& ops, const KernelRun& run);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_LOOP_H_
