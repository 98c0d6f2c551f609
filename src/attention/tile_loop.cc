#include "attention/tile_loop.h"

#include <algorithm>
#include <functional>

#include "attention/score/bias.h"
#include "attention/tile_steps.h"
#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"

namespace regard::inline v0 {

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

// Packs one key block of one kv head, its keys, its values, both or neither:
// those that some query sees. Returns the class of the values.
template <typename T>
ValueClass TileLoop<T>::PackBlock(const Sequence& sequence, int64_t kv_head,
                                  int64_t block, T* keys, T* values) const {
  if (keys == nullptr && values == nullptr) return ValueClass::kOrdinary;
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
// it; or leaves its keys to the strip, of which every row sees all of `seen`.
template <typename T>
UnpackedKeys<T> TileLoop<T>::Hold(const Head<T>& head,
                                  const TileStrip<T>& strip, IndexRange seen,
                                  int64_t block, const TileWorker<T>& w) const {
  if (!geometry_.own() || w.task->held == block) return {};
  w.task->held = block;
  const UnpackedKeys<T> keys = KeysToPack(head, strip, seen);
  *w.packed.classes =
      PackBlock(head.sequence, head.head / p_.group(), block,
                keys.first == nullptr ? w.packed.keys : nullptr,
                w.task->values == nullptr ? w.packed.values : nullptr);
  return keys;
}

// A strip can pack a block while it multiplies where it sees all of it.
template <typename T>
UnpackedKeys<T> TileLoop<T>::KeysToPack(const Head<T>& head,
                                        const TileStrip<T>& strip,
                                        IndexRange seen) const {
  constexpr int64_t kUnit = 16 / sizeof(T);
  const bool whole = seen.end - seen.begin == kKeysPerBlock<T> &&
                     strip.rows() == ops_.strip_rows;
  const bool fits = ops_.pack_scores != nullptr &&
                    p_.head_size <= ops_.pack_depth &&
                    p_.head_size % kUnit == 0;
  if (!whole || !fits) return {};
  const Rows k = p_.Keys(head.sequence, head.head / p_.group());
  if (!k.IsPlain<T>() || k.RunEnd(seen.begin, seen.end) != seen.end) return {};
  return {k.Row<T>(seen.begin), k.row_stride};
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

namespace {

// Adds rows to what is fetched, as far as they lie at one distance.
void AddRows(const Rows& rows, IndexRange range, int64_t columns,
             LinesAhead& lines) {
  if (range.empty() || rows.column_stride != 1) return;
  const int64_t end = rows.RunEnd(range.begin, range.end);
  lines.Add(rows.At(range.begin), end - range.begin,
            rows.row_stride * rows.item_size, columns * rows.item_size);
}

}  // namespace

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
  // In the products of q and k, and in those of weights and values.
  const int64_t panels =
      outputs_.out.given() ? CeilDiv(geometry_.columns, ops_.panel) : 0;
  lines.Spread(geometry_.block_queries / geometry_.strip_rows *
               (geometry_.own_keys / ops_.panel * geometry_.depth +
                panels * geometry_.own_keys / geometry_.pair));
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

template <typename T>
void RunTileLoop(const Problem& problem, const Outputs& outputs,
                 const FlashOps<T>& ops, const KernelRun& run) {
  TileLoop<T>(problem, outputs, ops, run).Run();
}

#define REGARD_INSTANTIATE(T)                                                  \
  template UnpackedKeys<T> TileLoop<T>::Hold(                                  \
      const Head<T>&, const TileStrip<T>&, IndexRange, int64_t,                \
      const TileWorker<T>&) const;                                             \
  template bool TileLoop<T>::AreOrdinary(const Head<T>&, const TileWorker<T>&) \
      const;                                                                   \
  template void RunTileLoop(const Problem&, const Outputs&,                    \
                            const FlashOps<T>&, const KernelRun&);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
