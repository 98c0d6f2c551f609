// The online softmax on a strip of scores (Milakov & Gimelshein 2018).
#if defined(REGARD_ATTENTION_KERNELS_SOFTMAX_STRIP_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_SOFTMAX_STRIP_INL_H_
#undef REGARD_ATTENTION_KERNELS_SOFTMAX_STRIP_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_SOFTMAX_STRIP_INL_H_
#endif

#include <hwy/highway.h>

#include "attention/kernels/exp2-inl.h"
#include "attention/kernels/flash_ops.h"
#include "attention/kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE T MinusInfinity() {
  return -hwy::HighestValue<T>() * T{2};
}

// A row without a visible key so far has no maximum to subtract: -infinity
// minus itself would be NaN. Any finite number leaves its scores at -infinity.
template <typename T>
HWY_INLINE T Subtrahend(T max) {
  return max == MinusInfinity<T>() ? T{0} : max;
}

// The largest of `count` scores. A NaN may be passed over: it shows in the sum.
template <class D, typename T, class V>
HWY_INLINE V RunMax(D d, const T* HWY_RESTRICT s, int64_t count, V max) {
  constexpr int64_t kLanes = HWY_LANES(T);
  V other = max;
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    max = hn::Max(max, hn::Load(d, s + i));
    other = hn::Max(other, hn::Load(d, s + i + kLanes));
  }
  if (i < count) max = hn::Max(max, hn::Load(d, s + i));
  return hn::Max(max, other);
}

// s = exp(s - top), added to the sums. Even and odd vectors are summed
// apart; a run starts on a panel, so that which is which follows from the
// position of the key.
template <class Cells, class D, typename T, class V>
HWY_INLINE void RunExp(D d, T* s, IndexRange run, const ScaledExp2<T>& exp,
                       V top, V& even_sum, V& odd_sum) {
  constexpr int64_t kLanes = HWY_LANES(T);
  int64_t i = run.begin;
  for (; i + 2 * kLanes <= run.end; i += 2 * kLanes) {
    const auto p0 = exp(hn::Sub(hn::Load(d, s + i), top));
    const auto p1 = exp(hn::Sub(hn::Load(d, s + i + kLanes), top));
    Cells::Store(p0, p1, d, s, i);
    even_sum = hn::Add(even_sum, p0);
    odd_sum = hn::Add(odd_sum, p1);
  }
  if (i < run.end) {
    const auto p = exp(hn::Sub(hn::Load(d, s + i), top));
    Cells::Store(p, d, s, i);
    even_sum = hn::Add(even_sum, p);
  }
}

template <typename T>
HWY_INLINE T RowMax(const T* s, const KeyRuns& runs) {
  const hn::ScalableTag<T> d;
  auto max = hn::Set(d, MinusInfinity<T>());
  for (int64_t i = 0; i < runs.count; ++i) {
    const IndexRange run = runs.at[i];
    max = RunMax(d, s + run.begin, run.end - run.begin, max);
  }
  return hn::GetLane(hn::MaxOfLanes(d, max));
}

// s = exp(s - max), as cells; returns the sum.
template <class Cells, typename T>
HWY_INLINE T RowExp(T* s, const KeyRuns& runs, const ScaledExp2<T>& exp,
                    T max) {
  const hn::ScalableTag<T> d;
  const auto top = hn::Set(d, Subtrahend(max));
  auto even_sum = hn::Zero(d);
  auto odd_sum = hn::Zero(d);
  for (int64_t i = 0; i < runs.count; ++i) {
    const IndexRange run = runs.at[i];
    RunExp<Cells>(d, s, run, exp, top, even_sum, odd_sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even_sum, odd_sum)));
}

// All maxima come first: no row waits for what goes across the lanes of its
// own.
template <class Cells, typename T>
HWY_INLINE void SoftmaxStrip(int64_t rows, T* s, const KeyRuns& runs,
                             T log2_scale, const T* largest,
                             const RowState<T>& state) {
  const hn::ScalableTag<T> d;
  const ScaledExp2<T> exp(log2_scale);
  for (int64_t r = 0; r < rows; ++r) {
    const T old_max = state.max[r];
    const T strip_max =
        largest != nullptr ? largest[r] : RowMax(s + r * kScoreStride<T>, runs);
    const T max = strip_max > old_max ? strip_max : old_max;
    const auto moved = hn::Set(d, old_max - Subtrahend(max));
    state.factor[r] = hn::GetLane(exp(moved));
    state.max[r] = max;
  }
  for (int64_t r = 0; r < rows; ++r) {
    state.sum[r] =
        state.sum[r] * state.factor[r] +
        RowExp<Cells>(s + r * kScoreStride<T>, runs, exp, state.max[r]);
  }
}

// x[i] = f(x[i]) / sum, with 1 for the sum of an empty row, whose x are 0.
// Adding 0 turns -0 into 0: whether hidden keys were multiplied by 0 or left
// out doesn't show.
template <typename T>
HWY_INLINE void DivideBySum(T* HWY_RESTRICT x, int64_t count, T sum) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const auto divisor = hn::Set(d, sum == 0 ? T{1} : sum);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto quotient = hn::Div(hn::Load(d, x + i), divisor);
    hn::Store(hn::Add(quotient, hn::Zero(d)), d, x + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
