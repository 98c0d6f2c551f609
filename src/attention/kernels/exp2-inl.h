// 2^x for the softmax.
#if defined(REGARD_ATTENTION_KERNELS_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_EXP2_INL_H_
#undef REGARD_ATTENTION_KERNELS_EXP2_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_EXP2_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Polynomials 1 + x (c1 + c2 x + ...) nearest to 2^x on [-1/2, 1/2] in relative
// error (Remez exchange in 60 digits; the constant is held at 1, so that
// Exp2(0) is 1 exactly).
template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE V Exp2Fraction(D d, V x) {  // relative error 9.1e-8
  V y = hn::Set(d, 0x1.5bba14p-10f);
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.3cea88p-7f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.c6b752p-5f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.ebf9bcp-3f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.62e42ap-1f));
  return hn::MulAdd(y, x, hn::Set(d, 1.0f));
}

template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE V Exp2Fraction(D d, V x) {  // relative error 3.4e-18
  V y = hn::Set(d, 0x1.e79bb6fc55606p-32);
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.e61b4f9a207f5p-28));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.b5267cdfd91eep-24));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.62bfc79d4b59fp-20));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.ffcbfba980f96p-17));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.4309130ed8cd5p-13));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.5d87fe78cd6cfp-10));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.3b2ab6fba011ap-7));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.c6b08d7049fe8p-5));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.ebfbdff82c5a4p-3));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.62e42fefa39efp-1));
  return hn::MulAdd(y, x, hn::Set(d, 1.0));
}

// What Exp2 needs to know of a floating type. Adding `kMagic`, 1.5 * 2^mantissa
// bits + exponent bias, rounds x to the nearest integer n and leaves n + bias
// in the low bits, where a shift makes 2^n of it.
template <typename T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  static constexpr float kMagic = 0x1.8p23f + 127.0f;
  static constexpr float kLowest = -126.0f;  // below, 2^x is not normal
  static constexpr int kMantissaBits = 23;
};
template <>
struct Exp2Constants<double> {
  static constexpr double kMagic = 0x1.8p52 + 1023.0;
  static constexpr double kLowest = -1022.0;
  static constexpr int kMantissaBits = 52;
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86_64

// y * 2^n for whole n, 0 where x < lowest.
HWY_INLINE hn::Vec512<float> ScaleUnlessTiny(hn::Vec512<float> y,
                                             hn::Vec512<float> n,
                                             hn::Vec512<float> x,
                                             hn::Vec512<float> lowest) {
  const __mmask16 ordinary = _mm512_cmp_ps_mask(x.raw, lowest.raw, _CMP_NLT_UQ);
  return {_mm512_maskz_scalef_ps(ordinary, y.raw, n.raw)};
}

HWY_INLINE hn::Vec512<double> ScaleUnlessTiny(hn::Vec512<double> y,
                                              hn::Vec512<double> n,
                                              hn::Vec512<double> x,
                                              hn::Vec512<double> lowest) {
  const __mmask8 ordinary = _mm512_cmp_pd_mask(x.raw, lowest.raw, _CMP_NLT_UQ);
  return {_mm512_maskz_scalef_pd(ordinary, y.raw, n.raw)};
}

#endif

// 2^x for x <= 0, within 2 ulp; 0 below 2^-126 (2^-1022), so also for
// -infinity; 1 for 0; NaN for NaN (the comparison comes last and is false for
// NaN, which the polynomial has let through).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V x) {
  using Constants = Exp2Constants<hn::TFromD<D>>;
  const V lowest = hn::Set(d, Constants::kLowest);
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86_64
  // The same in 12 instructions instead of 16: the units that multiply are what
  // a softmax is short of, and all the others come next.
  const V whole = hn::Round(x);
  const V fraction = hn::Sub(x, whole);
  return ScaleUnlessTiny(Exp2Fraction(d, fraction), whole, x, lowest);
#else
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, Constants::kMagic);
  const V shifted = hn::Add(x, magic);
  const V fraction = hn::Sub(x, hn::Sub(shifted, magic));
  const V power = hn::BitCast(
      d, hn::ShiftLeft<Constants::kMantissaBits>(hn::BitCast(du, shifted)));
  const V result = hn::Mul(Exp2Fraction(d, fraction), power);
  return hn::IfThenElse(hn::Lt(x, lowest), hn::Zero(d), result);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
