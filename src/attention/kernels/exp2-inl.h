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

// Polynomials 1 + x (c1 + c2 x + ...) near to 2^x on [-1/2, 1/2]; the constant
// is 1, so that 2^0 is 1 exactly.
//
// In units of the result's last place, which are twice as large for x >= 0,
// roundings included, this one is off by 1.88 at most (by 1.74 with fused
// multiply-adds). The nearest in relative error, from where it was searched, is
// off by 2.30.
template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE V Exp2Fraction(D d, V x) {
  V y = hn::Set(d, 0x1.58e5d2p-10f);
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.3cf310p-7f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.c6bf10p-5f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.ebf99ep-3f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.62e420p-1f));
  return hn::MulAdd(y, x, hn::Set(d, 1.0f));
}

// The nearest in relative error, 3.4e-18 (Remez exchange in 60 digits).
template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE V Exp2Fraction(D d, V x) {
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

// What ScaledExp2 needs to know of a floating type. Adding `kMagic`, 1.5 *
// 2^mantissa bits + exponent bias, rounds x to the nearest integer n and leaves
// n + bias in the low bits, where a shift makes 2^n of it.
template <typename T>
struct Exp2Constants;
template <>
struct Exp2Constants<float> {
  static constexpr float kMagic = 0x1.8p23f + 127.0f;
  static constexpr float kLowest = -127.0f;  // kMagic makes 0 of it
  static constexpr int kMantissaBits = 23;
};
template <>
struct Exp2Constants<double> {
  static constexpr double kMagic = 0x1.8p52 + 1023.0;
  static constexpr double kLowest = -1023.0;
  static constexpr int kMantissaBits = 52;
};

// AVX2 and AVX-512 look powers of 2^(1/kSteps) up in registers, which leaves so
// little to a polynomial that it takes three multiply-adds less.
#undef REGARD_EXP2_TABLE
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86_64
#define REGARD_EXP2_TABLE 1

// Bits of 2^(j / kSteps), less what shifting j to the exponent leaves below it.
#if HWY_TARGET <= HWY_AVX3
constexpr int kStepBits = 5;
alignas(64) constexpr uint32_t kPowers[] = {
    0x3F800000, 0x3F7ECD87, 0x3F7DAAC3, 0x3F7C980F, 0x3F7B95C2, 0x3F7AA43A,
    0x3F79C3D3, 0x3F78F4F0, 0x3F7837F0, 0x3F778D3A, 0x3F76F532, 0x3F767043,
    0x3F75FED7, 0x3F75A15B, 0x3F75583F, 0x3F7523F6, 0x3F7504F3, 0x3F74FBAF,
    0x3F7508A4, 0x3F752C4D, 0x3F75672A, 0x3F75B9BE, 0x3F76248C, 0x3F76A81E,
    0x3F7744FD, 0x3F77FBB8, 0x3F78CCDF, 0x3F79B907, 0x3F7AC0C7, 0x3F7BE4BA,
    0x3F7D257D, 0x3F7E83B3,
};

// Those at the low bits of the indices.
HWY_INLINE hn::Vec512<uint32_t> LookUpPowers(hn::Vec512<uint32_t> indices) {
  const hn::Full512<uint32_t> d;
  return {_mm512_permutex2var_epi32(hn::Load(d, kPowers).raw, indices.raw,
                                    hn::Load(d, kPowers + 16).raw)};
}

// 2^x on [-1/64, 1/64], relative error 5.4e-8; `power` is a factor.
template <class D, class V>
HWY_INLINE V Exp2Step(D d, V x, V power) {
  const V y = hn::MulAdd(hn::Set(d, 0x1.ebfbdep-3f), x,  //
                         hn::Set(d, 0x1.62e584p-1f));
  return hn::MulAdd(y, hn::Mul(x, power), power);
}
#else
constexpr int kStepBits = 3;
alignas(32) constexpr uint32_t kPowers[] = {
    0x3F800000, 0x3F7B95C2, 0x3F7837F0, 0x3F75FED7,
    0x3F7504F3, 0x3F75672A, 0x3F7744FD, 0x3F7AC0C7,
};

HWY_INLINE hn::Vec256<uint32_t> LookUpPowers(hn::Vec256<uint32_t> indices) {
  const hn::Full256<uint32_t> d;
  return {_mm256_permutevar8x32_epi32(hn::Load(d, kPowers).raw, indices.raw)};
}

// 2^x on [-1/16, 1/16], relative error 2.6e-8; `power` is a factor.
template <class D, class V>
HWY_INLINE V Exp2Step(D d, V x, V power) {
  V y = hn::Set(d, 0x1.c6a004p-5f);
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.ec0c32p-3f));
  y = hn::MulAdd(y, x, hn::Set(d, 0x1.62e432p-1f));
  return hn::MulAdd(y, hn::Mul(x, power), power);
}
#endif

#else
#define REGARD_EXP2_TABLE 0
#endif

// The larger of both; NaN where x is.
template <class V>
HWY_INLINE V NotBelow(V lowest, V x) {
#if HWY_ARCH_X86
  return hn::Max(lowest, x);  // the second operand where one is NaN
#else
  return hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
#endif
}

#undef REGARD_FUSED
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
#define REGARD_FUSED 1
#else
#define REGARD_FUSED 0
#endif

// 2^(scale * x) for x <= 0, within 2 ulp; 1 for 0, 0 for -infinity, NaN for
// NaN. Below 2^-126 (2^-1022) it is between 0 and that. The product is never
// rounded: of -20 half a unit in the last place would be 6 of the result.
template <typename T>
class ScaledExp2 {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Bits = hn::RebindToUnsigned<D>;
  using Constants = Exp2Constants<T>;
  static constexpr bool kTable = REGARD_EXP2_TABLE && sizeof(T) == 4;

 public:
  // A scale as ScaleParts has it: its inverse is a normal number too.
  explicit HWY_INLINE ScaledExp2(T scale)
      : scale_(hn::Set(D(), scale)),
        lowest_(hn::Set(D(), Constants::kLowest / scale)) {}

  HWY_INLINE V operator()(V x) const {
    x = NotBelow(lowest_, x);
#if REGARD_EXP2_TABLE
    if constexpr (kTable) return FromTable(x);
#endif
    return FromPolynomial(x);
  }

 private:
#if REGARD_EXP2_TABLE
  HWY_INLINE V FromTable(V x) const {
    const D d;
    constexpr int kShift = Constants::kMantissaBits - kStepBits;
    // Rounds to whole steps, and leaves their number in the low bits.
    const V magic = hn::Set(d, static_cast<T>(3 << (kShift - 1)));
    const V shifted = hn::MulAdd(x, scale_, magic);
    const V rest = Rest(x, hn::Sub(shifted, magic));
    const auto steps = hn::BitCast(Bits(), shifted);
    const auto power =
        hn::Add(LookUpPowers(steps), hn::ShiftLeft<kShift>(steps));
    return Exp2Step(d, rest, hn::BitCast(d, power));
  }
#endif

  HWY_INLINE V FromPolynomial(V x) const {
    const D d;
    const V magic = hn::Set(d, Constants::kMagic);
    const V shifted = hn::MulAdd(x, scale_, magic);
    const V power = hn::BitCast(d, hn::ShiftLeft<Constants::kMantissaBits>(
                                       hn::BitCast(Bits(), shifted)));
    const V fraction = Rest(x, hn::Sub(shifted, magic));
    return hn::Mul(Exp2Fraction(d, fraction), power);
  }

  // x * scale - whole.
  HWY_INLINE V Rest(V x, V whole) const {
#if REGARD_FUSED
    return hn::MulSub(x, scale_, whole);
#else
    // The product of the upper halves of both is exact, and so near to the
    // whole number that the difference is exact, too.
    const V x_high = UpperHalf(x), scale_high = UpperHalf(scale_);
    const V x_low = hn::Sub(x, x_high);
    const V scale_low = hn::Sub(scale_, scale_high);
    const V low = hn::Add(hn::Mul(x_high, scale_low), hn::Mul(x_low, scale_));
    return hn::Add(hn::Sub(hn::Mul(x_high, scale_high), whole), low);
#endif
  }

  static HWY_INLINE V UpperHalf(V x) {
    using Word = hn::TFromD<Bits>;
    constexpr int kLowBits = (Constants::kMantissaBits + 2) / 2;
    const auto mask = hn::Set(Bits(), static_cast<Word>(~Word{0} << kLowBits));
    return hn::BitCast(D(), hn::And(hn::BitCast(Bits(), x), mask));
  }

  const V scale_, lowest_;
};

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
