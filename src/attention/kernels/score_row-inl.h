// What happens to a row of scores between the product and the softmax: softcap,
// bias, ALiBi, mask.
#if defined(REGARD_ATTENTION_KERNELS_SCORE_ROW_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_SCORE_ROW_INL_H_
#undef REGARD_ATTENTION_KERNELS_SCORE_ROW_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_SCORE_ROW_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstdint>

#include "attention/kernels/softmax_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// s = scale * s; then, when cap != 0, cap * tanh(s / cap).
template <typename T>
HWY_INLINE void CapScores(T* HWY_RESTRICT s, int64_t count, T scale, T cap) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const auto factor = hn::Set(d, scale);
  const auto limit = hn::Set(d, cap);
  for (int64_t i = 0; i < count; i += kLanes) {
    auto x = hn::Mul(hn::Load(d, s + i), factor);
    if (cap != 0) {
      const auto capped = hn::Mul(limit, hn::Tanh(d, hn::Div(x, limit)));
      x = hn::IfThenElse(hn::IsNaN(x), x, capped);
    }
    hn::Store(x, d, s + i);
  }
}

// (2^x - 1) / x on [-1/2, 1/2], relative error 1.1e-8 (Remez exchange in 50
// digits).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2Slope(D d, V x) {
  V y = hn::Set(d, 0x1.4308fap-13f);
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.5f07b4p-10f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.3b2ba0p-7f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.c6af6ep-5f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.ebfbdep-3f));
  return hn::MulAdd(y, x, hn::Set(d, 0x1.62e430p-1f));
}

// tanh(y ln(2) / 2) = u / (u + 2) with u = 2^y - 1, for y >= 0 and NaN; within
// 4 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TanhOfExponent(D d, V y) {
  using Constants = Exp2Constants<float>;
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, Constants::kMagic);
  const V one = hn::Set(d, 1.0f);
  const V shifted = hn::Add(y, magic);
  const V fraction = hn::Sub(y, hn::Sub(shifted, magic));
  const V power = hn::BitCast(
      d, hn::ShiftLeft<Constants::kMantissaBits>(hn::BitCast(du, shifted)));
  const V grown = hn::Mul(Exp2Slope(d, fraction), fraction);
  const V u = hn::MulAdd(grown, power, hn::Sub(power, one));
  const V tanh = hn::Div(u, hn::Add(u, hn::Set(d, 2.0f)));
  // From here on it is 1, and 2^y soon no number.
  return hn::IfThenElse(hn::Gt(y, hn::Set(d, 30.0f)), one, tanh);
}

// The same as CapScores, in a third of the time, for float, a positive scale
// and a cap that isn't 0.
HWY_INLINE void CapFloats(float* HWY_RESTRICT s, int64_t count, float scale,
                          float cap) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = HWY_LANES(float);
  constexpr double kTwoLog2e = 2.8853900817779268;
  const double to_exponent =
      kTwoLog2e * static_cast<double>(scale) / static_cast<double>(cap);
  // A factor that is no normal number loses its digits.
  if (!(to_exponent > 0x1p-120 && to_exponent < 0x1p120)) {
    return CapScores(s, count, scale, cap);
  }
  const auto factor = hn::Set(d, static_cast<float>(to_exponent));
  const auto limit = hn::Set(d, cap);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto x = hn::Load(d, s + i);
    const auto tanh = TanhOfExponent(d, hn::Mul(hn::Abs(x), factor));
    hn::Store(hn::CopySign(hn::Mul(tanh, limit), x), d, s + i);
  }
}

// x + bias where that is not finite. A bias of -infinity hides its key,
// whatever the score: NaN too. A finite one never does: a sum beyond the lowest
// number is that number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V UnusualSum(D d, V x, V bias) {
  using T = hn::TFromD<D>;
  const V hidden = hn::Set(d, MinusInfinity<T>());
  const auto hides = hn::Eq(bias, hidden);
  const V sum = hn::Add(x, bias);
  const auto too_low =
      hn::AndNot(hn::Or(hides, hn::Eq(x, hidden)), hn::Eq(sum, hidden));
  const V lowest = hn::Set(d, hwy::LowestValue<T>());
  return hn::IfThenElse(hides, hidden, hn::IfThenElse(too_low, lowest, sum));
}

// s[i] += bias_at(i), as vectors, for count scores in whole vectors.
template <typename T, class BiasAt>
HWY_INLINE void AddToScores(T* HWY_RESTRICT s, int64_t count,
                            const BiasAt& bias_at) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto x = hn::Load(d, s + i);
    const auto bias = bias_at(i);
    auto sum = hn::Add(x, bias);
    // The difference is 0 unless the sum is infinite or NaN.
    const auto finite = hn::Eq(hn::Sub(sum, sum), hn::Zero(d));
    if (HWY_UNLIKELY(!hn::AllTrue(d, finite))) sum = UnusualSum(d, x, bias);
    hn::Store(sum, d, s + i);
  }
}

// A bias of T that lies in a row of anything: `load` makes a vector of `kLanes`
// elements of it.
template <typename T, typename Stored, class Load>
HWY_INLINE void AddRow(T* HWY_RESTRICT s, const Stored* HWY_RESTRICT bias,
                       int64_t count, const Load& load) {
  constexpr int64_t kLanes = HWY_LANES(T);
  const int64_t whole = count / kLanes * kLanes;
  AddToScores(s, whole, [&](int64_t i) HWY_ATTR { return load(bias + i); });
  if (whole == count) return;
  // What lies behind the row is not read.
  Stored last[kLanes] = {};
  for (int64_t i = whole; i < count; ++i) last[i - whole] = bias[i];
  AddToScores(s + whole, kLanes, [&](int64_t) HWY_ATTR { return load(last); });
}

template <typename T>
HWY_INLINE void AddScores(T* s, const T* bias, int64_t count) {
  const hn::ScalableTag<T> d;
  AddRow(s, bias, count,
         [&](const T* at) HWY_ATTR { return hn::LoadU(d, at); });
}

HWY_INLINE void AddScoresBF16(float* s, const uint16_t* bias, int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  AddRow(s, bias, count, [&](const uint16_t* at) HWY_ATTR {
    const auto wide = hn::PromoteTo(du, hn::LoadU(d16, at));
    return hn::BitCast(d, hn::ShiftLeft<16>(wide));
  });
}

// s[i] += -slope * |distance - i|. The slope is the sum of two numbers of T, so
// that the product is as good as one of double, rounded once.
template <typename T>
HWY_INLINE void AddLinear(T* HWY_RESTRICT s, int64_t count, double slope,
                          T distance) {
  const hn::ScalableTag<T> d;
  const T high = static_cast<T>(slope);
  const auto minus_high = hn::Set(d, -high);
  const auto minus_low =
      hn::Set(d, -static_cast<T>(slope - static_cast<double>(high)));
  const auto first = hn::Sub(hn::Set(d, distance), hn::Iota(d, 0));
  AddToScores(s, count, [&](int64_t i) HWY_ATTR {
    const auto from_key = hn::Sub(first, hn::Set(d, static_cast<T>(i)));
    const auto far = hn::Abs(from_key);
    return hn::MulAdd(minus_high, far, hn::Mul(minus_low, far));
  });
}

HWY_INLINE uint64_t NotZeroBits(const uint8_t* bytes) {
  const hn::ScalableTag<uint8_t> d;
  constexpr size_t kLanes = HWY_LANES(uint8_t);
  uint8_t bits[16] = {};  // StoreMaskBits may write a whole word
  for (size_t i = 0; i < 64; i += kLanes) {
    const auto v = hn::LoadU(d, bytes + i);
    hn::StoreMaskBits(d, hn::Ne(v, hn::Zero(d)), bits + i / 8);
  }
  uint64_t word;
  hwy::CopyBytes<8>(bits, &word);
  return word;
}

// Bits [at, at + lanes) of `bits`, at a multiple of the lanes.
template <class D>
HWY_INLINE hn::Mask<D> VisibleMask(D d, const uint64_t* bits, int64_t at) {
  constexpr size_t kLanes = HWY_LANES(hn::TFromD<D>);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(bits) + at / 8;
  if constexpr (kLanes >= 8) return hn::LoadMaskBits(d, bytes);
  // LoadMaskBits may look at a whole word.
  const uint8_t shifted[8] = {static_cast<uint8_t>(*bytes >> (at % 8))};
  return hn::LoadMaskBits(d, shifted);
}

// s[i] = -infinity where bit first + i is not set.
template <typename T>
HWY_INLINE void HideScores(T* HWY_RESTRICT s, const uint64_t* bits,
                           int64_t first, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const auto hidden = hn::Set(d, MinusInfinity<T>());
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto visible = VisibleMask(d, bits, first + i);
    hn::Store(hn::IfThenElse(visible, hn::Load(d, s + i), hidden), d, s + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
