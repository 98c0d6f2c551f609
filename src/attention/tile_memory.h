// What the tile loop keeps in memory: kv heads of a wave, what is packed of
// them, what a worker has at hand.
#ifndef REGARD_SRC_ATTENTION_TILE_MEMORY_H_
#define REGARD_SRC_ATTENTION_TILE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention/kernel_list.h"
#include "attention/kernels/flash_ops.h"
#include "attention/mask/key_bits.h"
#include "attention/pack.h"
#include "attention/problem.h"
#include "attention/rows_ahead.h"
#include "attention/workload.h"

namespace regard::inline v0 {

// Words of bits, one a key, of a block.
template <typename T>
inline constexpr int64_t kWordsPerBlock = kKeysPerBlock<T> / kKeysPerWord;

// A kv head of a wave.
struct TileHead {
  Sequence sequence;
  HeldBlocks blocks;
  int64_t kv_head;
  int64_t query_blocks;       // of a query head
  int64_t first_pack;         // the number of its first task
  int64_t first_query_block;  // among those of the wave
  int64_t at;                 // bytes before what is packed of it
};

struct TileWave {
  int64_t heads = 0;
  int64_t packs = 0;  // tasks
  int64_t query_blocks = 0;
};

template <typename T>
struct PackedHead {
  T* keys;
  T* values;
  ValueClass* classes;  // of the values of each held block
  bool one_block;       // the one that a task holds, not all held ones
};

// A few queries: their packed rows, their part of the output, their state.
template <typename T>
struct TileStrip {
  IndexRange queries;
  T* q;
  T* out;
  RowState<T> state;
  uint8_t* unusual;  // whether it has met values that are not ordinary
  int64_t rows() const { return queries.end - queries.begin; }
};

// What a task knows.
template <typename T>
struct TileTask {
  // Of one that packs for itself:
  IndexRange keys;    // all that it sees are in there
  int64_t held = -1;  // the block that it has packed; -1: none
  // Values that are read where they lie: row 0, and elements from row to row.
  // Their classes aren't known: a row of the output that is not exact leads to
  // another try with packed ones, unless all values turn out to be ordinary.
  const T* values = nullptr;
  int64_t row_step = 0;
  bool ordinary = false;  // known to be
  // What will be needed next.
  LinesAhead lines;
};

// A worker's memory.
template <typename T>
struct TileWorker {
  T* q;                  // [strips][D][strip_rows]
  T* out;                // [strips][strip_rows][columns]
  T* state;              // max, sum, factor of every row
  T* refined;            // [columns]
  T* scores;             // [strip_rows][kScoreStride]
  T* largest;            // [strip_rows], of a strip's scores
  T* bias;               // [kKeysPerBlock]
  IndexRange* runs;      // [kWordsPerBlock]
  uint64_t* bits;        // [strip_rows][kWordsPerBlock]
  uint8_t* visible;      // [kKeysPerBlock]
  uint8_t* hidden;       // [strip_rows][kKeysPerBlock]
  uint8_t* unusual;      // [strips]
  PackedHead<T> packed;  // of a task that packs for itself
  TileTask<T>* task;
};

// Sizes of the packed copies and of each worker's memory, in elements of T
// unless they say bytes.
//
// Keys and values of one kv head are packed once and serve all query blocks and
// all query heads of the group. They are packed for a wave of kv heads at a
// time, of any sequences, so that scratch stays near kWaveBytes, and linear in
// the length always.
//
// Where a kv head has few queries, or where each few of them see few keys (a
// window), these are one task, which packs a key block, uses it, and goes on to
// the next one: what is packed stays in the second-level cache, and memory is
// read while the task computes.
template <typename T>
struct TileGeometry {
  // For a run in so much scratch; without a limit what a plan takes, enough for
  // every smaller workload.
  TileGeometry(const Problem& problem, const Workload& work,
               const FlashOps<T>& ops, int threads,
               int64_t limit = std::numeric_limits<int64_t>::max());

  int64_t own_keys;       // of a block that a task packs for itself; or 0
  int64_t own_queries;    // of such a task, of each query head: whole strips
  int64_t block_queries;  // whole strips
  int64_t strip_rows;
  int64_t columns;      // Dv, rounded up to whole vectors
  int64_t depth;        // cells of D
  int64_t panel, pair;  // keys of a panel; elements of a cell
  int64_t worker_bytes;
  int64_t most_heads;     // of a wave
  int64_t fixed_bytes;    // beside what is packed
  int64_t scratch_bytes;  // with room for a good wave

  // Whether a task packs for itself.
  bool own() const { return own_keys > 0; }

  // What is packed of one kv head: keys, values, the classes of its blocks.
  int64_t PackedKeys(int64_t keys) const;
  int64_t PackedValues(int64_t keys) const;
  int64_t PackedBytes(int64_t keys) const;

  // Parts of a run's scratch. Heads are those of the wave in work.
  TileHead* Heads(const KernelRun& run) const {
    return reinterpret_cast<TileHead*>(run.scratch);
  }
  PackedHead<T> Packed(const KernelRun& run, const TileHead& head) const;
  TileWorker<T> WorkerOf(const KernelRun& run, int worker) const;
  // The strip in slot `slot` of the worker's memory: strip `index` of
  // `queries`.
  TileStrip<T> StripOf(const TileWorker<T>& worker, int64_t slot, int64_t index,
                       IndexRange queries) const;
  // As many heads from this one on as there is memory for.
  TileWave NextWave(const Problem& problem, const KernelRun& run,
                    int64_t first_head) const;

 private:
  void SetWorkers(int threads);
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_MEMORY_H_
