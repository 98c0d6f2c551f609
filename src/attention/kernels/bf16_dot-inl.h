// The dot product of bf16 pairs, and the conversion that goes with it, as
// instructions: the compilers' intrinsics can't be used in functions built for
// Highway's AVX3. To be run where kAvx3Bf16 is usable.
#if defined(REGARD_ATTENTION_KERNELS_BF16_DOT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_BF16_DOT_INL_H_
#undef REGARD_ATTENTION_KERNELS_BF16_DOT_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_BF16_DOT_INL_H_
#endif

#include <hwy/highway.h>

// This pass builds the level kAvx3Bf16.
#undef REGARD_BF16_DOT
#if HWY_TARGET == HWY_AVX3 && HWY_ARCH_X86_64
#define REGARD_BF16_DOT 1
#else
#define REGARD_BF16_DOT 0
#endif

#if REGARD_BF16_DOT
HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;  // of floats, or of pairs in their place

// sum + a0 b0 + a1 b1 for the pairs of each 32-bit lane: a1 b1 is added first,
// then a0 b0, each time rounded to nearest even once, as a fused multiply-add.
// Subnormal numbers count as 0, in a, b and sum and as results, whatever the
// floating-point control state (Intel SDM, VDPBF16PS).
HWY_INLINE FloatVec DotPairs(FloatVec a, FloatVec b, FloatVec sum) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
  return sum;
}

// The floats of `low`, then those of `high`, in bf16: nearest even, NaN quiet,
// subnormal ones 0 (VCVTNE2PS2BF16).
HWY_INLINE FloatVec ToPairs(FloatVec low, FloatVec high) {
  FloatVec pairs;
  asm("vcvtne2ps2bf16 %2, %1, %0"
      : "=v"(pairs.raw)
      : "v"(high.raw), "v"(low.raw));
  return pairs;
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();
#endif  // REGARD_BF16_DOT

#endif  // per-target include guard
