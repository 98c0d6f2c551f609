// The arithmetic of the decode loop, built once per instruction set.
#include "attention/kernels/decode_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/decode.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/highway.h>

#include "attention/kernels/decode_cells-inl.h"
#include "attention/kernels/decode_output-inl.h"
#include "attention/kernels/decode_scores-inl.h"
#include "attention/kernels/exp2-inl.h"
#include "attention/kernels/softmax_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if !REGARD_DECODES

const DecodeOps<float>* DecodeOpsF32() { return nullptr; }
const DecodeOps<double>* DecodeOpsF64() { return nullptr; }
const DecodeOps<float>* DecodeOpsBF16() { return nullptr; }

#else

template <typename T>
void Merge(const T* part, T part_max, T part_sum, T log2_scale, int64_t columns,
           T* out, T* max, T* sum) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const T top = part_max > *max ? part_max : *max;
  const ScaledExp2<T> exp(log2_scale);
  const auto factor = [&](T from) HWY_ATTR {
    return exp(hn::Set(d, from - Subtrahend(top)));
  };
  const auto old_factor = factor(*max), factor_of_part = factor(part_max);
  *max = top;
  *sum =
      *sum * hn::GetLane(old_factor) + part_sum * hn::GetLane(factor_of_part);
  for (int64_t i = 0; i < columns; i += kLanes) {
    const auto scaled = hn::Mul(hn::Load(d, part + i), factor_of_part);
    const auto old = hn::Load(d, out + i);
    hn::Store(hn::MulAdd(old, old_factor, scaled), d, out + i);
  }
}

template <typename T, typename S>
const StoredOps<T>* Stored() {
  using Cells = ElementCells<T, S>;
  static const StoredOps<T> ops = {
      .scores = Scores<Cells>,
      .accumulate = Accumulate<Cells>,
      .accumulate_visible = AccumulateVisible<Cells>,
      .accumulate_weights = AccumulateVisible<Cells>,
  };
  return &ops;
}

template <typename T>
DecodeOps<T> OpsForSame(const StoredOps<T>* same) {
  return {
      .lanes = HWY_LANES(T),
      .reads_tails = kReadsTails,
      .pairs = false,
      .pair_up = nullptr,
      .same = same,
      .bf16 = nullptr,
      .f16 = nullptr,
      .i8 = nullptr,
      .merge = Merge<T>,
  };
}

const DecodeOps<float>* DecodeOpsF32() {
  static const DecodeOps<float> ops = [] {
    DecodeOps<float> all = OpsForSame(Stored<float, float>());
    all.bf16 = Stored<float, BF16>();
    if constexpr (kConvertsF16) all.f16 = Stored<float, F16>();
    all.i8 = Stored<float, int8_t>();
    return all;
  }();
  return &ops;
}

const DecodeOps<double>* DecodeOpsF64() {
  static const DecodeOps<double> ops = OpsForSame(Stored<double, double>());
  return &ops;
}

#if REGARD_BF16_DOT

void PairUp(float* numbers, int64_t count) {
  const Floats d;
  // What is written was read before.
  for (int64_t i = 0; i < count; i += 2 * kPairLanes) {
    const FloatVec high = i + kPairLanes < count
                              ? hn::Load(d, numbers + i + kPairLanes)
                              : hn::Zero(d);
    const FloatVec pairs = ToPairs(hn::Load(d, numbers + i), high);
    hn::Store(pairs, d, numbers + i / 2);
  }
}

const DecodeOps<float>* DecodeOpsBF16() {
  static const StoredOps<float> stored = {
      .scores = Scores<PairCells>,
      .accumulate = Accumulate<PairCells>,
      .accumulate_visible = AccumulateVisiblePairs,
      .accumulate_weights = AccumulateVisible<ElementCells<float, BF16>>,
  };
  static const DecodeOps<float> ops = [] {
    DecodeOps<float> all = OpsForSame(&stored);
    all.pairs = true;
    all.pair_up = PairUp;
    all.bf16 = &stored;
    return all;
  }();
  return &ops;
}

#else

const DecodeOps<float>* DecodeOpsBF16() { return nullptr; }

#endif  // REGARD_BF16_DOT

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "attention/kernels/target_index.h"

namespace regard::inline v0 {

HWY_EXPORT(DecodeOpsF32);
HWY_EXPORT(DecodeOpsF64);
HWY_EXPORT(DecodeOpsBF16);

template <>
const DecodeOps<float>* DecodeOpsFor<float>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(DecodeOpsF32)[TargetIndex(target)]();
}

template <>
const DecodeOps<double>* DecodeOpsFor<double>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(DecodeOpsF64)[TargetIndex(target)]();
}

const DecodeOps<float>* DecodeBF16OpsFor(SimdTarget target) {
  if (target != kAvx3Bf16) return nullptr;
  return HWY_DISPATCH_TABLE(DecodeOpsBF16)[TargetIndex(target)]();
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
