// The loop for short queries: keys and values are read where they lie, once for
// all query heads of their group, and split at fixed positions among threads.
#ifndef REGARD_SRC_ATTENTION_DECODE_LOOP_H_
#define REGARD_SRC_ATTENTION_DECODE_LOOP_H_

#include <cstddef>
#include <cstdint>

#include "attention/kernel_list.h"
#include "attention/kernels/decode_ops.h"
#include "attention/kernels/flash_ops.h"
#include "attention/problem.h"

namespace regard::inline v0 {

template <typename T>
struct DecodeTable {
  const FlashOps<T>& flash;  // softmax, weights, what is done to scores
  const DecodeOps<T>& decode;
};

// Sizes in elements of T unless they say bytes.
//
// A unit is one kv head with the rows that meet it: (query head of the group,
// query), up to kUnitRows of them. Each key block of a unit gives a part
// (maximum, sum, output); parts are merged in order of keys. A wave of units,
// of any sequences, is in work at a time, so that scratch is bounded.
template <typename T>
struct DecodeGeometry {
  DecodeGeometry(const Problem& problem, const Workload& work,
                 const DecodeTable<T>& ops, int threads);

  int64_t unit_rows;       // of a unit, rounded up to tiles
  int64_t depth, columns;  // D, Dv, rounded up to whole vectors
  int64_t part_elements;
  int64_t worker_bytes;
  int64_t most_units;     // of a wave
  int64_t fixed_bytes;    // beside the parts
  int64_t scratch_bytes;  // with room for a good wave
};

// Runs the sequences of `run` in its scratch, which holds fixed_bytes and the
// parts of the unit that has most.
template <typename T>
void RunDecodeLoop(const Problem& problem, const Outputs& outputs,
                   const DecodeTable<T>& ops, const KernelRun& run);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_DECODE_LOOP_H_
