// One tile of scores: products, what is added to them, what is hidden.
#include <algorithm>

#include "attention/tile_steps.h"
#include "base/checked.h"

namespace regard::inline v0 {

template <typename T>
ScoreSpan TileLoop<T>::Scores(const Head<T>& head, const TileStrip<T>& strip,
                              int64_t block, const TileWorker<T>& w) const {
  const int64_t first = block * kKeysPerBlock<T>;
  const IndexRange keys =
      head.mask.Range(strip.queries, {first, first + kKeysPerBlock<T>});
  if (keys.empty()) return {};
  const TileClass tile = head.mask.Estimate({strip.queries, keys});
  if (tile == TileClass::kEmpty) return {};
  const bool full = tile == TileClass::kFull;
  const UnpackedKeys<T> unpacked =
      Hold(head, strip, full ? keys : IndexRange{}, block, w);
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
  Multiply(head, strip, span, unpacked, w);
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

// Products of the strip with the keys of the runs, which are packed; or become
// so, where `unpacked` has them: then they are one run, the whole block.
template <typename T>
void TileLoop<T>::Multiply(const Head<T>& head, const TileStrip<T>& strip,
                           const ScoreSpan& span,
                           const UnpackedKeys<T>& unpacked,
                           const TileWorker<T>& w) const {
  T* const largest = span.maximal ? w.largest : nullptr;
  for (int64_t i = 0; i < span.runs.count; ++i) {
    const IndexRange run = span.runs.at[i];
    const int64_t key = span.keys.begin + run.begin;
    const int64_t count = run.end - run.begin;
    const RowsAhead ahead[2] = {terms_.BiasAhead(head.sequence.index, head.head,
                                                 strip.queries.begin, key),
                                head.mask.StoredAhead(strip.queries.end, key)};
    T* const k = head.packed.keys + head.PlaceOf(key) * geometry_.depth;
    T* const s = w.scores + run.begin;
    LinesAhead* const lines = &w.task->lines;
    if (unpacked.first == nullptr) {
      ops_.scores(strip.rows(), strip.q, k, geometry_.depth, count, s, largest,
                  ahead, lines);
    } else {
      ops_.pack_scores(strip.q, unpacked.first, unpacked.step, k,
                       geometry_.depth, count, s, largest, ahead, lines);
    }
  }
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

#define REGARD_INSTANTIATE(T)                                                  \
  template ScoreSpan TileLoop<T>::Scores(const Head<T>&, const TileStrip<T>&,  \
                                         int64_t, const TileWorker<T>&) const; \
  template void TileLoop<T>::MarkHidden(const TileStrip<T>&, const KeyRuns&,   \
                                        const TileWorker<T>&) const;
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
