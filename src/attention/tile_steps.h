// The steps of the tile loop, which share what a run knows. Where they are:
// tasks in tile_loop.cc, one tile of scores in tile_scores.cc, what becomes of
// scores in tile_consumers.cc.
#ifndef REGARD_SRC_ATTENTION_TILE_STEPS_H_
#define REGARD_SRC_ATTENTION_TILE_STEPS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "attention/kernel_list.h"
#include "attention/kernels/flash_ops.h"
#include "attention/pack.h"
#include "attention/problem.h"
#include "attention/score/score_terms.h"
#include "attention/seen_keys.h"
#include "attention/tile_memory.h"

namespace regard::inline v0 {

// Pieces that nobody sees are told from words of bits.
static_assert(kKeysPerPiece == kKeysPerWord);

// A query head and what is packed of its kv head.
template <typename T>
struct Head {
  Sequence sequence;
  HeldBlocks blocks;
  int64_t head;
  double sink_logit;  // where there is one
  MaskSet mask;
  PackedHead<T> packed;

  // Where a block, a key and the values of a block are in packed memory.
  int64_t IndexOf(int64_t block) const {
    return packed.one_block ? 0 : blocks.IndexOf(block);
  }
  int64_t PlaceOf(int64_t key) const {
    const int64_t block = key / kKeysPerBlock<T>;
    return key - (block - IndexOf(block)) * kKeysPerBlock<T>;
  }
  ValueClass ClassOf(int64_t block) const {
    return packed.classes[IndexOf(block)];
  }
};

// Scores in worker.scores, from the first of `keys` on: whole vectors, from the
// first key of a panel on. Between the runs nothing is visible, and nothing
// written. Hidden scores in the runs are at -infinity.
struct ScoreSpan {
  IndexRange keys;
  KeyRuns runs;        // none where nothing is visible
  IndexRange visible;  // outside of it nothing is, counted like the runs
  bool maximal;        // worker.largest holds the largest score of each row
  int64_t size() const { return keys.end - keys.begin; }
};

// Keys of a block where they lie, if the strip that meets them first is to pack
// them.
template <typename T>
struct UnpackedKeys {
  const T* first = nullptr;
  int64_t step = 0;  // elements
};

// Values of one key block: packed, or rows where they lie.
template <typename T>
struct ValueTile {
  const T* data;
  int64_t panel_rows;  // 0: not packed
  // Keys of the block before the span. In a column panel narrower than `panel`
  // the rows are narrower too, which `accumulate` takes into account.
  int64_t skipped;
};

// The tasks of a wave's query blocks: a block each, but the last ones in parts,
// so that no thread waits for long until the others have ended theirs.
class QueryTasks {
 public:
  QueryTasks(int64_t blocks, int threads)
      : whole_(threads == 1 ? blocks : std::max<int64_t>(0, blocks - threads)),
        count_(whole_ + (blocks - whole_) * kParts) {}

  int64_t count() const { return count_; }

  // The block of a task, and which of how many parts of it.
  struct Part {
    int64_t block, index, count;
  };
  Part At(int64_t task) const {
    if (task < whole_) return {task, 0, 1};
    const int64_t part = task - whole_;
    return {whole_ + part / kParts, part % kParts, kParts};
  }

 private:
  static constexpr int64_t kParts = 8;
  int64_t whole_, count_;
};

// A task that packs for itself: queries of all query heads of a kv head.
struct OwnTask {
  const TileHead* kv = nullptr;
  IndexRange queries;
};

template <typename T>
class TileLoop {
 public:
  TileLoop(const Problem& problem, const Outputs& outputs,
           const FlashOps<T>& ops, const KernelRun& run)
      : p_(problem),
        outputs_(outputs),
        ops_(ops),
        run_(run),
        geometry_(problem, run.work, ops, run.threads, run.scratch_bytes),
        packer_(*PackOpsFor<T>(run.target), ops.pairs),
        terms_(problem, ops) {}

  void Run() const;

 private:
  static constexpr T kHidden = -std::numeric_limits<T>::infinity();

  // Tasks.
  void PackTask(const TileWave& wave, int64_t task) const;
  void QueryTask(const TileWave& wave, const QueryTasks::Part& part,
                 int worker) const;
  OwnTask OwnTaskOf(const TileWave& wave, int64_t task) const;
  using SeenRuns = std::array<IndexRange, kKeysPerBlock<T> / kKeysPerPiece>;
  ValueClass PackBlock(const Sequence& sequence, int64_t kv_head, int64_t block,
                       T* keys, T* values) const;
  UnpackedKeys<T> Hold(const Head<T>& head, const TileStrip<T>& strip,
                       IndexRange seen, int64_t block,
                       const TileWorker<T>& worker) const;
  UnpackedKeys<T> KeysToPack(const Head<T>& head, const TileStrip<T>& strip,
                             IndexRange seen) const;
  Head<T> HeadFor(const TileHead& kv, int64_t in_group,
                  const TileWorker<T>& worker) const;
  void QueryBlock(const TileHead& kv, IndexRange heads, IndexRange queries,
                  const OwnTask& next, const TileWorker<T>& worker) const;
  IndexRange KeysOf(const TileHead& kv, IndexRange heads, IndexRange queries,
                    IndexRange keys) const;
  void AddBlock(const TileHead& kv, IndexRange keys, LinesAhead& lines) const;
  void FetchNext(const TileHead& kv, IndexRange rest, const OwnTask& next,
                 const TileWorker<T>& worker) const;
  void FetchQueries(const TileHead& kv, int64_t in_group, IndexRange queries,
                    const TileWorker<T>& worker) const;
  void ReadInPlace(const TileHead& kv, const TileWorker<T>& worker) const;
  bool AreOrdinary(const Head<T>& head, const TileWorker<T>& worker) const;
  void Begin(const Head<T>& head, const TileStrip<T>& strip) const;

  // One tile of scores.
  ScoreSpan Scores(const Head<T>& head, const TileStrip<T>& strip,
                   int64_t block, const TileWorker<T>& worker) const;
  void Multiply(const Head<T>& head, const TileStrip<T>& strip,
                const ScoreSpan& span, const UnpackedKeys<T>& rows,
                const TileWorker<T>& worker) const;
  bool FindVisible(const Head<T>& head, const TileStrip<T>& strip,
                   int64_t first, ScoreSpan& span,
                   const TileWorker<T>& worker) const;
  void ApplyTerms(const Head<T>& head, const TileStrip<T>& strip,
                  const ScoreSpan& span, const TileWorker<T>& worker) const;
  void HideEnds(const Head<T>& head, const TileStrip<T>& strip, IndexRange span,
                const TileWorker<T>& worker) const;
  void MarkHidden(const TileStrip<T>& strip, const KeyRuns& runs,
                  const TileWorker<T>& worker) const;

  // Consumers.
  using DropOp = decltype(FlashOps<T>::drop);
  void Drop(const Head<T>& head, const TileStrip<T>& strip,
            const ScoreSpan& span, DropOp drop,
            const TileWorker<T>& worker) const;
  ValueTile<T> ValuesOf(const Head<T>& head, int64_t block, IndexRange span,
                        const TileWorker<T>& worker) const;
  void Forward(const Head<T>& head, const TileStrip<T>& strip, int64_t block,
               const TileWorker<T>& worker) const;
  bool Finish(const Head<T>& head, const TileStrip<T>& strip,
              const TileWorker<T>& worker) const;
  double Lse(const TileStrip<T>& strip, int64_t row) const;
  T Share(const Head<T>& head, const TileStrip<T>& strip, int64_t row) const;
  void Refine(const Head<T>& head, const TileStrip<T>& strip, int64_t row,
              const TileWorker<T>& worker) const;
  void ClearWeights(const Head<T>& head, const TileStrip<T>& strip) const;
  void Weights(const Head<T>& head, const TileStrip<T>& strip, int64_t block,
               const TileWorker<T>& worker) const;
  void HandOver(const Head<T>& head, const TileStrip<T>& strip, IndexRange keys,
                const T* weights) const;

  const Problem& p_;
  const Outputs& outputs_;
  const FlashOps<T>& ops_;
  const KernelRun& run_;
  const TileGeometry<T> geometry_;
  const Packer<T> packer_;
  const ScoreTerms<T> terms_;
};

// Calls visit(block, rest) for each key block that `range(keys)`, those of the
// keys that somebody sees, has something of, in order; steps over what lies
// between. `rest` are the keys of it that are still to come.
template <typename T, typename Range, typename Visit>
void ForEachKeyBlock(const Sequence& sequence, const HeldBlocks& blocks,
                     const Range& range, const Visit& visit) {
  IndexRange keys = range(IndexRange{0, sequence.key_length});
  while (!keys.empty()) {
    const int64_t block = keys.begin / kKeysPerBlock<T>;
    keys = range(IndexRange{(block + 1) * kKeysPerBlock<T>, keys.end});
    if (!blocks.IsLost(block)) visit(block, keys);
  }
}

// The same for some queries of a head: visit(block).
template <typename T, typename Visit>
void ForEachKeyBlock(const Head<T>& head, IndexRange queries,
                     const Visit& visit) {
  ForEachKeyBlock<T>(
      head.sequence, head.blocks,
      [&](IndexRange keys) { return head.mask.Range(queries, keys); },
      [&](int64_t block, IndexRange) { visit(block); });
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_STEPS_H_
