#include "nn/gelu.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"
#include "regard/nn.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/gelu.cc"
#include <hwy/foreach_target.h>
// foreach_target.h has to come first.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "nn/simd_choice.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Phi(-y) = exp(-y^2 / 2) R(y). With t = 1 / (1 + kBend y), R is t times a
// polynomial of degree 9 in t, fitted (tests/golden/fit_gelu.py) to a relative
// error of 3.5e-9 over 0 <= y <= 14.5, where Phi leaves the range of f32.
constexpr float kBend = 0.3f;
constexpr float kLargest = 16.0f;
constexpr float kFit[] = {
    0.11968669f,    0.119571805f, 0.110235503f,  0.0783892722f, 0.0961579566f,
    -0.0794256336f, 0.191787156f, -0.228215591f, 0.112436468f,  -0.0206236276f};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluOf(D d, V x) {
  const V one = hn::Set(d, 1.0f), half = hn::Set(d, 0.5f);
  // Beyond kLargest Phi no longer changes; selected so that NaN stays NaN.
  const V magnitude = hn::Abs(x), largest = hn::Set(d, kLargest);
  const V y = hn::IfThenElse(hn::Gt(magnitude, largest), largest, magnitude);
  // y^2 = square + rest: without `rest` the error of the exponential would grow
  // with y^2.
  const V square = hn::Mul(y, y);
  const V rest = hn::MulSub(y, y, square);
  const V e = hn::Mul(hn::Exp(d, hn::Neg(hn::Mul(half, square))),
                      hn::NegMulAdd(half, rest, one));
  const V t = hn::Div(one, hn::MulAdd(hn::Set(d, kBend), y, one));
  V p = hn::Set(d, kFit[9]);
  for (int i = 8; i >= 0; --i) p = hn::MulAdd(p, t, hn::Set(d, kFit[i]));
  const V tail = hn::Mul(hn::Mul(e, t), p);
  const V phi =
      hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
  return hn::Mul(x, phi);
}

void GeluRun(float* x, int64_t count) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(GeluOf(d, hn::LoadU(d, x + i)), d, x + i);
  }
  if (i == count) return;
  // The remainder takes the same path, so that an element's bits do not depend
  // on its place.
  HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy(x + i, x + count, last);
  hn::Store(GeluOf(d, hn::Load(d, last)), d, last);
  std::copy(last, last + (count - i), x + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regard::inline v0 {

HWY_EXPORT(GeluRun);

void GeluOn(SimdTarget target, float* x, int64_t count) {
  FunctionFor(HWY_DISPATCH_TABLE(GeluRun), target)(x, count);
}

namespace {

// 64 KiB: long against the start of a task (microseconds).
constexpr int64_t kBlock = 16384;

}  // namespace

void Gelu(MutableTensorView x, int threads) {
  if (x.dtype != DType::kF32 || !x.IsContiguous()) {
    throw Error(ErrorKind::kArgument, "Gelu",
                std::string("x is ") + Name(x.dtype) + " " + ToString(x.shape) +
                    ", but has to be f32 and contiguous");
  }
  const SimdTarget target = WidestSimdTarget();
  float* const data = x.AsMutable<float>();
  const int64_t count = x.NumElements();
  ParallelFor(CeilDiv(count, kBlock), threads, [&](int64_t block, int) {
    const ScopedFloatState float_state;
    const int64_t begin = block * kBlock;
    GeluOn(target, data + begin, std::min(kBlock, count - begin));
  });
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
