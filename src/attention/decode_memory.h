// What the decode loop keeps in memory: units of work, what their key blocks
// give, what a worker has at hand.
#ifndef REGARD_SRC_ATTENTION_DECODE_MEMORY_H_
#define REGARD_SRC_ATTENTION_DECODE_MEMORY_H_

#include <cstdint>

#include "attention/kernel_list.h"
#include "attention/kernels/decode_ops.h"
#include "attention/kernels/flash_ops.h"
#include "attention/problem.h"
#include "attention/workload.h"

namespace regard::inline v0 {

template <typename T>
struct DecodeTable {
  const FlashOps<T>& flash;  // softmax, weights, what is done to scores
  const DecodeOps<T>& decode;
};

// Keys or values copied at a time where they can't be read in place.
inline constexpr int64_t kCopiedRows = 16;

// Rows of a kv head that are computed together.
struct DecodeUnit {
  int64_t index;  // among those of the run
  Sequence sequence;
  HeldBlocks blocks;
  int64_t kv_head;
  IndexRange rows;      // row r: query head r / Lq of the group, query r % Lq
  int64_t first_block;  // number of its first block in the wave
};

struct DecodeWave {
  int64_t units = 0, blocks = 0;
};

// The next unit of a run.
struct DecodeCursor {
  int64_t sequence = 0, kv_head = 0, row = 0;
  int64_t units = 0;  // before it
};

// What one key block adds to the rows of a unit.
template <typename T>
struct DecodePart {
  T* out;  // [unit_rows][columns]
  T* max;  // [unit_rows]; -infinity where no key is visible
  T* sum;  // [unit_rows]
};

// A worker's memory.
template <typename T>
struct DecodeWorker {
  T* q;              // [unit_rows][depth], of the unit `packed`
  T* copied;         // [kCopiedRows][depth or columns]
  T* out;            // [columns]
  T* refined;        // [columns]
  T* piece;          // [columns]
  T* scores;         // [kDecodeStripRows][kScoreStride]
  T* factor;         // [kDecodeStripRows]
  T* bias;           // [kKeysPerBlock]
  int64_t* packed;   // index of a unit
  IndexRange* runs;  // of keys that some row of the strip sees
  int64_t* run_count;
  IndexRange* visible_keys;  // [kDecodeStripRows]
  uint8_t* visible;          // [kKeysPerBlock]
  uint8_t* hidden;           // [kDecodeStripRows][kKeysPerBlock]
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

  // Parts of a run's scratch. Units are those of the wave in work.
  DecodeUnit* Units(const KernelRun& run) const {
    return reinterpret_cast<DecodeUnit*>(run.scratch);
  }
  DecodePart<T> PartOf(const KernelRun& run, const DecodeUnit& unit,
                       int64_t index) const;
  DecodeWorker<T> WorkerOf(const KernelRun& run, int worker) const;
  // As many units as there is memory for; moves the cursor behind them.
  DecodeWave NextWave(const Problem& problem, const KernelRun& run,
                      DecodeCursor& next) const;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_DECODE_MEMORY_H_
