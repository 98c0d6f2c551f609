#include "attention/tile_loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "attention/output_row.h"
#include "attention/pack.h"
#include "attention/row_check.h"
#include "attention/score/bias.h"
#include "attention/score/dropout.h"
#include "attention/score/score_terms.h"
#include "attention/score/sink.h"
#include "attention/seen_keys.h"
#include "attention/tile_memory.h"
#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"

namespace regard::inline v0 {

namespace {

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

// Packed values of one key block.
template <typename T>
struct ValueTile {
  const T* data;
  int64_t panel_rows;
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
  void Hold(const Head<T>& head, int64_t block,
            const TileWorker<T>& worker) const;
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

// ---------------------------------------------------------------- tasks

template <typename T>
void TileLoop<T>::Run() const {
  const int64_t heads = run_.sequences.count * p_.kv_heads;
  for (int64_t first = 0; first < heads;) {
    const TileWave wave = geometry_.NextWave(p_, run_, first);
    const auto pack = [&](int64_t task, int) { PackTask(wave, task); };
    ParallelFor(wave.packs, run_.threads, std::cref(pack));
    const QueryTasks tasks(wave.query_blocks,
                           geometry_.own() ? 1 : run_.threads);
    const auto query = [&](int64_t task, int worker) {
      QueryTask(wave, tasks.At(task), worker);
    };
    ParallelFor(tasks.count(), run_.threads, std::cref(query));
    first += wave.heads;
  }
}

template <typename T>
void TileLoop<T>::PackTask(const TileWave& wave, int64_t task) const {
  const ScopedFloatState float_state;
  const TileHead& head = EntryOfTask(geometry_.Heads(run_), wave.heads, task,
                                     &TileHead::first_pack);
  const int64_t index = task - head.first_pack;
  const int64_t at = index * kKeysPerBlock<T>;
  const PackedHead<T> packed = geometry_.Packed(run_, head);
  packed.classes[index] =
      PackBlock(head.sequence, head.kv_head, head.blocks.BlockOf(index),
                packed.keys + at * geometry_.depth,
                packed.values + at / geometry_.pair * geometry_.columns);
}

// Packs one key block of one kv head, its keys, its values or both: those that
// some query sees. Returns the class of the values.
template <typename T>
ValueClass TileLoop<T>::PackBlock(const Sequence& sequence, int64_t kv_head,
                                  int64_t block, T* keys, T* values) const {
  const int64_t first = block * kKeysPerBlock<T>;
  const int64_t count = std::min(
      kKeysPerBlock<T>, RoundUp(sequence.key_length, ops_.panel) - first);
  SeenRuns runs;
  const std::span<const IndexRange> seen =
      SeenKeys(p_, sequence, kv_head, geometry_.block_queries,
               {first, first + count}, runs);
  if (seen.empty()) return ValueClass::kOrdinary;
  if (keys != nullptr) {
    packer_.Keys(p_.Keys(sequence, kv_head), first, count, seen, p_.head_size,
                 ops_.panel, keys);
  }
  if (values == nullptr) return ValueClass::kOrdinary;
  return packer_.Values(p_.Values(sequence, kv_head), first, count, seen,
                        p_.value_size, geometry_.columns, ops_.panel, values);
}

// Packs the block, where tasks do so for themselves and this one doesn't hold
// it.
template <typename T>
void TileLoop<T>::Hold(const Head<T>& head, int64_t block,
                       const TileWorker<T>& w) const {
  if (!geometry_.own() || w.task->held == block) return;
  w.task->held = block;
  *w.packed.classes =
      PackBlock(head.sequence, head.head / p_.group(), block, w.packed.keys,
                w.task->values == nullptr ? w.packed.values : nullptr);
}

// Query blocks from the last to the first: under a causal mask the longest
// come first, and the short ones level out the threads at the end.
template <typename T>
void TileLoop<T>::QueryTask(const TileWave& wave, const QueryTasks::Part& part,
                            int worker) const {
  const ScopedFloatState float_state;
  const TileHead& kv = EntryOfTask(geometry_.Heads(run_), wave.heads,
                                   part.block, &TileHead::first_query_block);
  const TileWorker<T> w = geometry_.WorkerOf(run_, worker);
  const IndexRange all = {0, kv.sequence.query_length};
  if (geometry_.own()) {
    OwnTask next = {};
    if (part.block + run_.threads < wave.query_blocks) {
      next = OwnTaskOf(wave, part.block + run_.threads);
    }
    const OwnTask own = OwnTaskOf(wave, part.block);
    return QueryBlock(*own.kv, {0, p_.group()}, own.queries, next, w);
  }
  const int64_t index = part.block - kv.first_query_block;
  const int64_t block = kv.query_blocks - 1 - index % kv.query_blocks;
  const int64_t size = RoundUp(CeilDiv(geometry_.block_queries, part.count),
                               geometry_.strip_rows);
  const int64_t begin = block * geometry_.block_queries + part.index * size;
  const int64_t end =
      std::min(begin + size, (block + 1) * geometry_.block_queries);
  const IndexRange queries = IndexRange{begin, end} & all;
  if (queries.empty()) return;
  const int64_t head = index / kv.query_blocks;
  QueryBlock(kv, {head, head + 1}, queries, {}, w);
}

// From the last queries of a head to its first, too.
template <typename T>
OwnTask TileLoop<T>::OwnTaskOf(const TileWave& wave, int64_t task) const {
  const TileHead& kv = EntryOfTask(geometry_.Heads(run_), wave.heads, task,
                                   &TileHead::first_query_block);
  const int64_t part = kv.query_blocks - 1 - (task - kv.first_query_block);
  const int64_t begin = part * geometry_.own_queries;
  return {&kv,
          {begin,
           std::min(begin + geometry_.own_queries, kv.sequence.query_length)}};
}

template <typename T>
Head<T> TileLoop<T>::HeadFor(const TileHead& kv, int64_t in_group,
                             const TileWorker<T>& w) const {
  const int64_t head = kv.kv_head * p_.group() + in_group;
  return {kv.sequence,
          kv.blocks,
          head,
          p_.sink_logit.given() ? HeadNumber(p_.sink_logit, head) : 0,
          p_.MaskOf(kv.sequence, head),
          geometry_.own() ? w.packed : geometry_.Packed(run_, kv)};
}

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

// What some queries of some query heads see of the keys.
template <typename T>
IndexRange TileLoop<T>::KeysOf(const TileHead& kv, IndexRange heads,
                               IndexRange queries, IndexRange keys) const {
  IndexRange all;
  for (int64_t h = heads.begin; h < heads.end; ++h) {
    const MaskSet mask = p_.MaskOf(kv.sequence, kv.kv_head * p_.group() + h);
    all = Hull(all, mask.Range(queries, keys));
  }
  return all;
}

// Adds rows to what is fetched, as far as they lie at one distance.
void AddRows(const Rows& rows, IndexRange range, int64_t columns,
             LinesAhead& lines) {
  if (range.empty() || rows.column_stride != 1) return;
  const int64_t end = rows.RunEnd(range.begin, range.end);
  lines.Add(rows.At(range.begin), end - range.begin,
            rows.row_stride * rows.item_size, columns * rows.item_size);
}

// Adds the first block of these keys and their values.
template <typename T>
void TileLoop<T>::AddBlock(const TileHead& kv, IndexRange keys,
                           LinesAhead& lines) const {
  const IndexRange block = {
      keys.begin,
      std::min(keys.end, RoundUp(keys.begin + 1, kKeysPerBlock<T>))};
  AddRows(p_.Keys(kv.sequence, kv.kv_head), block, p_.head_size, lines);
  AddRows(p_.Values(kv.sequence, kv.kv_head), block, p_.value_size, lines);
}

// Has fetched what comes after the block in work: the first block of the rest
// of the keys or, where there is none, of the task `next`, if any.
template <typename T>
void TileLoop<T>::FetchNext(const TileHead& kv, IndexRange rest,
                            const OwnTask& next, const TileWorker<T>& w) const {
  LinesAhead& lines = w.task->lines;
  lines = LinesAhead();
  if (!rest.empty()) {
    AddBlock(kv, rest, lines);
  } else if (next.kv != nullptr) {
    const TileHead& then = *next.kv;
    AddRows(p_.Queries(then.sequence, then.kv_head * p_.group()), next.queries,
            p_.head_size, lines);
    AddBlock(then,
             KeysOf(then, {0, p_.group()}, next.queries,
                    {0, then.sequence.key_length}),
             lines);
  }
  lines.Spread(geometry_.block_queries / geometry_.strip_rows *
               (geometry_.own_keys / ops_.panel) * geometry_.depth);
}

// The same for query blocks, which go from the last to the first.
template <typename T>
void TileLoop<T>::FetchQueries(const TileHead& kv, int64_t in_group,
                               IndexRange queries,
                               const TileWorker<T>& w) const {
  const int64_t begin = queries.begin - geometry_.block_queries;
  LinesAhead& lines = w.task->lines;
  AddRows(p_.Queries(kv.sequence, kv.kv_head * p_.group() + in_group),
          {std::max<int64_t>(begin, 0), queries.begin}, p_.head_size, lines);
  lines.Spread(geometry_.block_queries / geometry_.strip_rows *
               (kKeysPerPiece / ops_.panel) * geometry_.depth);
}

// Values that are side by side, and as many as the output has columns, need not
// be packed: a product reads a piece of a row of them as it reads one of a
// panel.
template <typename T>
void TileLoop<T>::ReadInPlace(const TileHead& kv,
                              const TileWorker<T>& w) const {
  if (ops_.pairs || geometry_.columns != p_.value_size) return;
  const Rows v = p_.Values(kv.sequence, kv.kv_head);
  if (!v.IsPlain<T>() || v.table != nullptr || v.period != 0) return;
  for (int64_t h = 0; h < p_.group(); ++h) {
    if (HeadFor(kv, h, w).mask.HasPattern()) return;
  }
  w.task->values = v.Row<T>(0);
  w.task->row_step = v.row_stride;
}

// Whether all values are ordinary in the blocks that the task meets, of those
// that some query sees.
template <typename T>
bool TileLoop<T>::AreOrdinary(const Head<T>& head,
                              const TileWorker<T>& w) const {
  const IndexRange seen = w.task->keys;
  for (int64_t i = 0; i < head.blocks.count; ++i) {
    const int64_t block = head.blocks.BlockOf(i);
    const int64_t first = block * kKeysPerBlock<T>;
    if ((seen & IndexRange{first, first + kKeysPerBlock<T>}).empty()) continue;
    const ValueClass found = PackBlock(head.sequence, head.head / p_.group(),
                                       block, nullptr, w.packed.values);
    if (found != ValueClass::kOrdinary) return false;
  }
  return true;
}

// Some queries of some query heads, counted in their group. This thread will
// probably go on with `next`.
template <typename T>
void TileLoop<T>::QueryBlock(const TileHead& kv, IndexRange heads,
                             IndexRange queries, const OwnTask& next,
                             const TileWorker<T>& w) const {
  const int64_t strips = CeilDiv(queries.end - queries.begin, ops_.strip_rows);
  // Until `visit` returns false.
  const auto for_each_strip = [&](const auto& visit) {
    for (int64_t h = heads.begin; h < heads.end; ++h) {
      const Head<T> head = HeadFor(kv, h, w);
      const int64_t slot = (h - heads.begin) * strips;
      for (int64_t i = 0; i < strips; ++i) {
        if (!visit(head, geometry_.StripOf(w, slot + i, i, queries)))
          return false;
      }
    }
    return true;
  };
  const auto range = [&](IndexRange keys) {
    return KeysOf(kv, heads, queries, keys);
  };
  const auto visit = [&](int64_t block, IndexRange rest) {
    if (geometry_.own()) FetchNext(kv, rest, next, w);
    for_each_strip([&](const Head<T>& head, const TileStrip<T>& strip) {
      Forward(head, strip, block, w);
      return true;
    });
  };
  *w.task = {};
  if (geometry_.own()) {
    w.task->keys = range(IndexRange{0, kv.sequence.key_length});
    ReadInPlace(kv, w);
  } else {
    FetchQueries(kv, heads.begin, queries, w);
  }
  for (bool done = false; !done;) {
    for_each_strip([&](const Head<T>& head, const TileStrip<T>& strip) {
      Begin(head, strip);
      return true;
    });
    // A key block stays in the cache while all strips meet it.
    ForEachKeyBlock<T>(kv.sequence, kv.blocks, range, visit);
    done = for_each_strip([&](const Head<T>& head, const TileStrip<T>& strip) {
      return Finish(head, strip, w);
    });
    if (!done) *w.task = {};
  }
  if (!outputs_.wants_weights()) return;
  for_each_strip([&](const Head<T>& head, const TileStrip<T>& strip) {
    ClearWeights(head, strip);
    return true;
  });
  ForEachKeyBlock<T>(
      kv.sequence, kv.blocks, range, [&](int64_t block, IndexRange) {
        for_each_strip([&](const Head<T>& head, const TileStrip<T>& strip) {
          Weights(head, strip, block, w);
          return true;
        });
      });
}

template <typename T>
void TileLoop<T>::Begin(const Head<T>& head, const TileStrip<T>& strip) const {
  packer_.Queries(p_.Queries(head.sequence, head.head), strip.queries,
                  p_.head_size, ops_.strip_rows, terms_.scale().folded,
                  strip.q);
  const int64_t rows = ops_.strip_rows;
  std::fill(strip.out, strip.out + rows * geometry_.columns, T{0});
  std::fill(strip.state.max, strip.state.max + rows, kHidden);
  std::fill(strip.state.sum, strip.state.sum + rows, T{0});
  std::fill(strip.state.factor, strip.state.factor + rows, T{1});
  *strip.unusual = 0;
}

// ---------------------------------------------------------------- scores

template <typename T>
ScoreSpan TileLoop<T>::Scores(const Head<T>& head, const TileStrip<T>& strip,
                              int64_t block, const TileWorker<T>& w) const {
  const int64_t first = block * kKeysPerBlock<T>;
  const IndexRange keys =
      head.mask.Range(strip.queries, {first, first + kKeysPerBlock<T>});
  if (keys.empty()) return {};
  const TileClass tile = head.mask.Estimate({strip.queries, keys});
  if (tile == TileClass::kEmpty) return {};
  Hold(head, block, w);
  const bool pattern = tile == TileClass::kMixed && head.mask.HasPattern();
  ScoreSpan span = {
      {keys.begin / ops_.panel * ops_.panel, RoundUp(keys.end, ops_.lanes)},
      {w.runs, 1},
      {},
      false};
  w.runs[0] = {0, span.size()};
  span.visible = {keys.begin - span.keys.begin, keys.end - span.keys.begin};
  bool hides = tile == TileClass::kMixed || span.keys != keys;
  if (pattern) hides = FindVisible(head, strip, first, span, w);
  span.maximal = span.runs.count == 1 && !hides && !terms_.any();
  for (int64_t i = 0; i < span.runs.count; ++i) {
    const IndexRange run = w.runs[i];
    const int64_t key = span.keys.begin + run.begin;
    const RowsAhead ahead[2] = {terms_.BiasAhead(head.sequence.index, head.head,
                                                 strip.queries.begin, key),
                                head.mask.StoredAhead(strip.queries.end, key)};
    ops_.scores(strip.rows(), strip.q,
                head.packed.keys + head.PlaceOf(key) * geometry_.depth,
                geometry_.depth, run.end - run.begin, w.scores + run.begin,
                span.maximal ? w.largest : nullptr, ahead, &w.task->lines);
  }
  if (terms_.any()) ApplyTerms(head, strip, span, w);
  if (hides && pattern) {
    for (int64_t r = 0; r < strip.rows(); ++r) {
      for (int64_t i = 0; i < span.runs.count; ++i) {
        const IndexRange run = w.runs[i];
        ops_.hide(w.scores + r * kScoreStride<T> + run.begin,
                  w.bits + r * kWordsPerBlock<T>,
                  span.keys.begin - first + run.begin, run.end - run.begin);
      }
    }
  } else if (hides) {
    HideEnds(head, strip, span.keys, w);
  }
  return span;
}

// Writes which keys of the block from `first` on each row sees into
// worker.bits, and takes the pieces that are hidden from all rows out of the
// runs; returns whether anything is hidden in what is left.
template <typename T>
bool TileLoop<T>::FindVisible(const Head<T>& head, const TileStrip<T>& strip,
                              int64_t first, ScoreSpan& span,
                              const TileWorker<T>& w) const {
  constexpr int64_t kWords = kWordsPerBlock<T>;
  std::array<uint64_t, kWords> any = {}, every;
  every.fill(~uint64_t{0});
  for (int64_t r = 0; r < strip.rows(); ++r) {
    uint64_t* bits = w.bits + r * kWords;
    std::fill(bits, bits + kWords, uint64_t{0});
    head.mask.SetRow(strip.queries.begin + r, span.keys,
                     {first, bits, ops_.not_zero});
    for (size_t i = 0; i < any.size(); ++i) any[i] |= bits[i];
    for (size_t i = 0; i < any.size(); ++i) every[i] &= bits[i];
  }
  int64_t count = 0;
  bool hides = false;
  ForEachWord(span.keys, [&](IndexRange piece) {
    const size_t word =
        static_cast<size_t>((piece.begin - first) / kKeysPerWord);
    if (any[word] == 0) return;
    const uint64_t all = LowBits(piece.end - piece.begin)
                         << (piece.begin % kKeysPerWord);
    hides |= (every[word] & all) != all;
    const IndexRange run = {piece.begin - span.keys.begin,
                            piece.end - span.keys.begin};
    if (count > 0 && w.runs[count - 1].end == run.begin) {
      w.runs[count - 1].end = run.end;
    } else {
      w.runs[count++] = run;
    }
  });
  span.runs.count = count;
  return hides;
}

template <typename T>
void TileLoop<T>::ApplyTerms(const Head<T>& head, const TileStrip<T>& strip,
                             const ScoreSpan& span,
                             const TileWorker<T>& w) const {
  const int64_t offset = head.mask.frame().offset;
  for (int64_t r = 0; r < strip.rows(); ++r) {
    const int64_t query = strip.queries.begin + r;
    const ScoreRow row = {head.sequence.index, head.head, query,
                          head.sequence.key_length,
                          SaturatingAdd(query, offset)};
    for (int64_t i = 0; i < span.runs.count; ++i) {
      const IndexRange run = span.runs.at[i];
      terms_.Apply(row,
                   {span.keys.begin + run.begin, span.keys.begin + run.end},
                   w.scores + r * kScoreStride<T> + run.begin, w.bias);
    }
  }
}

// Hides what each row doesn't see, where it sees a range.
template <typename T>
void TileLoop<T>::HideEnds(const Head<T>& head, const TileStrip<T>& strip,
                           IndexRange span, const TileWorker<T>& w) const {
  for (int64_t r = 0; r < strip.rows(); ++r) {
    const int64_t query = strip.queries.begin + r;
    T* s = w.scores + r * kScoreStride<T>;
    const IndexRange range = head.mask.Range({query, query + 1}, span);
    const IndexRange keys =
        range.empty() ? IndexRange{span.end, span.end} : range;
    std::fill(s, s + (keys.begin - span.begin), kHidden);
    std::fill(s + (keys.end - span.begin), s + (span.end - span.begin),
              kHidden);
  }
}

template <typename T>
void TileLoop<T>::MarkHidden(const TileStrip<T>& strip, const KeyRuns& runs,
                             const TileWorker<T>& w) const {
  for (int64_t r = 0; r < strip.rows(); ++r) {
    const T* s = w.scores + r * kScoreStride<T>;
    uint8_t* hidden = w.hidden + r * kKeysPerBlock<T>;
    for (int64_t i = 0; i < runs.count; ++i) {
      for (int64_t k = runs.at[i].begin; k < runs.at[i].end; ++k) {
        hidden[k] = s[k] == kHidden;
      }
    }
  }
}

// ---------------------------------------------------------------- consumers

// Dropout on the weights of a tile, where there is some.
template <typename T>
void TileLoop<T>::Drop(const Head<T>& head, const TileStrip<T>& strip,
                       const ScoreSpan& span, DropOp drop,
                       const TileWorker<T>& w) const {
  if (p_.dropout == nullptr) return;
  for (int64_t r = 0; r < strip.rows(); ++r) {
    const DropoutRow row = DropoutRowOf(*p_.dropout, head.sequence.index,
                                        head.head, strip.queries.begin + r);
    for (int64_t i = 0; i < span.runs.count; ++i) {
      const IndexRange run = span.runs.at[i];
      drop(w.scores + r * kScoreStride<T>, run, span.keys.begin + run.begin,
           row);
    }
  }
}

template <typename T>
ValueTile<T> TileLoop<T>::ValuesOf(const Head<T>& head, int64_t block,
                                   IndexRange span,
                                   const TileWorker<T>& w) const {
  const int64_t first = block * kKeysPerBlock<T>;
  if (w.task->values != nullptr) {
    return {w.task->values + first * w.task->row_step, 0, span.begin - first};
  }
  const int64_t at = head.PlaceOf(first);
  return {head.packed.values + at / geometry_.pair * geometry_.columns,
          std::min(kKeysPerBlock<T>,
                   RoundUp(head.sequence.key_length, ops_.panel) - first),
          span.begin - first};
}

template <typename T>
void TileLoop<T>::Forward(const Head<T>& head, const TileStrip<T>& strip,
                          int64_t block, const TileWorker<T>& w) const {
  const ScoreSpan span = Scores(head, strip, block, w);
  if (span.runs.count == 0) return;
  // Of values in place ordinary ones are expected.
  const bool finite = head.ClassOf(block) != ValueClass::kNotFinite;
  *strip.unusual |= head.ClassOf(block) != ValueClass::kOrdinary;
  if (!finite) MarkHidden(strip, span.runs, w);
  ops_.softmax(strip.rows(), w.scores, span.runs, terms_.scale().log2_scale,
               span.maximal ? w.largest : nullptr, strip.state);
  if (!outputs_.out.given()) return;
  Drop(head, strip, span, ops_.drop, w);

  const ValueTile<T> values = ValuesOf(head, block, span.keys, w);
  if (finite) {
    // Weights that are 0 for all rows need not be multiplied.
    const int64_t unit = geometry_.pair;
    IndexRange& first = w.runs[0];
    first.begin = std::max(first.begin, span.visible.begin / unit * unit);
    IndexRange& last = w.runs[span.runs.count - 1];
    last.end = std::min(last.end, RoundUp(span.visible.end, unit));
    ops_.accumulate(strip.rows(), w.scores, values.data, values.skipped,
                    span.runs, values.panel_rows, w.task->row_step,
                    geometry_.columns, strip.state.factor, strip.out);
  } else {
    // A hidden value that isn't finite must not even be multiplied by 0.
    ops_.accumulate_visible(strip.rows(), w.scores, values.data, values.skipped,
                            span.runs, values.panel_rows, geometry_.columns,
                            strip.state.factor, w.hidden, strip.out);
  }
}

// Of a row whose keys have all been seen.
template <typename T>
double TileLoop<T>::Lse(const TileStrip<T>& strip, int64_t r) const {
  return terms_.scale().LogSumExp(strip.state.max[r], strip.state.sum[r]);
}

template <typename T>
T TileLoop<T>::Share(const Head<T>& head, const TileStrip<T>& strip,
                     int64_t r) const {
  return static_cast<T>(ShareBesideSink(Lse(strip, r), head.sink_logit));
}

// Writes the rows, or returns false where values have to be packed for them.
template <typename T>
bool TileLoop<T>::Finish(const Head<T>& head, const TileStrip<T>& strip,
                         const TileWorker<T>& w) const {
  for (int64_t r = 0; r < strip.rows(); ++r) {
    const T sum = strip.state.sum[r];
    const OutputRow to = head.sequence.Row(head.head, strip.queries.begin + r);
    if (outputs_.lse.given()) {
      *to.In<T>(outputs_.lse) = static_cast<T>(Lse(strip, r));
    }
    if (!outputs_.out.given()) continue;
    T* row = strip.out + r * geometry_.columns;
    const bool finite = ops_.finish(row, geometry_.columns, sum);
    const bool in_place = w.task->values != nullptr;
    const bool check = in_place ? !w.task->ordinary : *strip.unusual != 0;
    if (check && !IsExact(finite, row, p_.value_size, sum)) {
      if (in_place && !AreOrdinary(head, w)) return false;
      w.task->ordinary = in_place;
      if (!in_place) Refine(head, strip, r, w);
    }
    T share = p_.sink_logit.given() ? Share(head, strip, r) : T{1};
    if (p_.dropout != nullptr) share *= static_cast<T>(KeptScale(*p_.dropout));
    for (int64_t e = 0; share != 1 && e < p_.value_size; ++e) row[e] *= share;
    StoreOutRow(outputs_.out, to, row);
  }
  return true;
}

// Computes what is not exact in a row once more: the sum of weight times value
// over the visible keys, from -0, which changes nothing that is added to it.
template <typename T>
void TileLoop<T>::Refine(const Head<T>& head, const TileStrip<T>& strip,
                         int64_t r, const TileWorker<T>& w) const {
  const int64_t query = strip.queries.begin + r;
  const RowState<T> state = {strip.state.max + r, strip.state.sum + r,
                             strip.state.factor + r};
  const TileStrip<T> one = {{query, query + 1},
                            strip.q + r,
                            strip.out + r * geometry_.columns,
                            state,
                            strip.unusual};
  *state.factor = 1;
  std::fill(w.refined, w.refined + geometry_.columns, -T{0});
  ForEachKeyBlock(head, one.queries, [&](int64_t block) {
    const ScoreSpan span = Scores(head, one, block, w);
    if (span.runs.count == 0) return;
    MarkHidden(one, span.runs, w);
    for (int64_t i = 0; i < span.runs.count; ++i) {
      const IndexRange run = span.runs.at[i];
      ops_.weights(w.scores + run.begin, run.end - run.begin,
                   terms_.scale().log2_scale, *state.max, *state.sum);
    }
    Drop(head, one, span, ops_.drop_weights, w);
    const ValueTile<T> values = ValuesOf(head, block, span.keys, w);
    ops_.accumulate_weights(1, w.scores, values.data, values.skipped, span.runs,
                            values.panel_rows, geometry_.columns, state.factor,
                            w.hidden, w.refined);
  });
  for (int64_t e = 0; e < p_.value_size; ++e) {
    if (!IsExact(one.out + e, 1, *state.sum)) one.out[e] = w.refined[e];
  }
}

// Tiles that the mask hides are never visited again.
template <typename T>
void TileLoop<T>::ClearWeights(const Head<T>& head,
                               const TileStrip<T>& strip) const {
  if (!outputs_.weights.given()) return;
  for (int64_t q = strip.queries.begin; q < strip.queries.end; ++q) {
    ClearWeightsRow<T>(outputs_.weights, head.sequence.Row(head.head, q));
  }
}

template <typename T>
void TileLoop<T>::Weights(const Head<T>& head, const TileStrip<T>& strip,
                          int64_t block, const TileWorker<T>& w) const {
  const ScoreSpan span = Scores(head, strip, block, w);
  if (span.runs.count == 0) return;
  for (int64_t r = 0; r < strip.rows(); ++r) {
    T* s = w.scores + r * kScoreStride<T>;
    const T sum = strip.state.sum[r];
    const T share = p_.sink_logit.given() ? Share(head, strip, r) : T{1};
    int64_t at = 0;  // between the runs all weights are 0
    for (int64_t i = 0; i < span.runs.count; ++i) {
      const IndexRange run = span.runs.at[i];
      std::fill(s + at, s + run.begin, T{0});
      WeightsFromScores(ops_, s + run.begin, run.end - run.begin,
                        terms_.scale().log2_scale, strip.state.max[r], sum,
                        share, w.visible);
      at = run.end;
    }
    std::fill(s + at, s + span.size(), T{0});
  }
  HandOver(head, strip, span.keys & IndexRange{0, head.sequence.key_length},
           w.scores);
}

template <typename T>
void TileLoop<T>::HandOver(const Head<T>& head, const TileStrip<T>& strip,
                           IndexRange keys, const T* weights) const {
  if (outputs_.weights.given()) {
    for (int64_t r = 0; r < strip.rows(); ++r) {
      StoreWeightsRow(outputs_.weights,
                      head.sequence.Row(head.head, strip.queries.begin + r),
                      keys.begin, keys.end, weights + r * kScoreStride<T>);
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (outputs_.sink != nullptr) {
      (*outputs_.sink)({head.sequence.index, head.head, strip.queries.begin,
                        strip.queries.end, keys.begin, keys.end, weights,
                        kScoreStride<T>});
    }
  }
}

}  // namespace

template <typename T>
void RunTileLoop(const Problem& problem, const Outputs& outputs,
                 const FlashOps<T>& ops, const KernelRun& run) {
  TileLoop<T>(problem, outputs, ops, run).Run();
}

template void RunTileLoop(const Problem&, const Outputs&,
                          const FlashOps<float>&, const KernelRun&);
template void RunTileLoop(const Problem&, const Outputs&,
                          const FlashOps<double>&, const KernelRun&);

}  // namespace regard::inline v0
