// What becomes of a tile of scores: the forward pass and its output, weights.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "attention/output_row.h"
#include "attention/row_check.h"
#include "attention/score/dropout.h"
#include "attention/score/sink.h"
#include "attention/tile_steps.h"
#include "base/checked.h"

namespace regard::inline v0 {

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
                    geometry_.columns, strip.state.factor, strip.out,
                    &w.task->lines);
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

#define REGARD_INSTANTIATE(T)                                                  \
  template void TileLoop<T>::Forward(const Head<T>&, const TileStrip<T>&,      \
                                     int64_t, const TileWorker<T>&) const;     \
  template bool TileLoop<T>::Finish(const Head<T>&, const TileStrip<T>&,       \
                                    const TileWorker<T>&) const;               \
  template void TileLoop<T>::ClearWeights(const Head<T>&, const TileStrip<T>&) \
      const;                                                                   \
  template void TileLoop<T>::Weights(const Head<T>&, const TileStrip<T>&,      \
                                     int64_t, const TileWorker<T>&) const;
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
