#include "nn/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"
#include "nn/input.h"
#include "regard/nn.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/layer_norm.cc"
#include <hwy/foreach_target.h>
// foreach_target.h has to come first.
#include <hwy/highway.h>

#include "nn/simd_choice.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Narrow = hn::Rebind<float, Wide>;  // as many lanes

HWY_INLINE hn::Vec<Wide> LoadWide(const float* from) {
  return hn::PromoteTo(Wide(), hn::LoadU(Narrow(), from));
}

// Sum over a row of (x - center)^power in double; power is 1 or 2.
template <int kPower>
HWY_INLINE double SumAbout(const float* x, int64_t size, double center) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto c = hn::Set(d, center);
  auto sums = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto delta = hn::Sub(LoadWide(x + i), c);
    sums = hn::Add(sums, kPower == 1 ? delta : hn::Mul(delta, delta));
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < size; ++i) {
    const double delta = x[i] - center;
    sum += kPower == 1 ? delta : delta * delta;
  }
  return sum;
}

// Two passes in double: exact enough for any f32 row, whatever its mean, and no
// square of an f32 overflows.
void LayerNormRun(const LayerNormRow& row) {
  const double n = static_cast<double>(row.size);
  const double mean = SumAbout<1>(row.x, row.size, 0.0) / n;
  const double variance = SumAbout<2>(row.x, row.size, mean) / n;
  const double scale = 1.0 / std::sqrt(variance + row.eps);
  const Wide d;
  const Narrow narrow;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto means = hn::Set(d, mean), scales = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + lanes <= row.size; i += lanes) {
    const auto normal = hn::Mul(hn::Sub(LoadWide(row.x + i), means), scales);
    const auto out = hn::Add(hn::Mul(normal, LoadWide(row.gain + i)),
                             LoadWide(row.bias + i));
    hn::StoreU(hn::DemoteTo(narrow, out), narrow, row.out + i);
  }
  for (; i < row.size; ++i) {
    const double normal = (row.x[i] - mean) * scale;
    row.out[i] = static_cast<float>(normal * row.gain[i] + row.bias[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regard::inline v0 {

HWY_EXPORT(LayerNormRun);

void LayerNormOn(SimdTarget target, const LayerNormRow& row) {
  FunctionFor(HWY_DISPATCH_TABLE(LayerNormRun), target)(row);
}

LayerNorm::LayerNorm(int64_t size, double eps)
    : weight(Dims{size}), bias(Dims{size}), eps(eps) {
  if (!(eps >= 0) || !std::isfinite(eps)) {
    throw Error(ErrorKind::kArgument, "LayerNorm",
                "eps is " + std::to_string(eps) +
                    ", but has to be finite and not negative");
  }
  weight.Fill(1);
  bias.Fill(0);
}

std::vector<NamedParameter> LayerNorm::Parameters() {
  return {{"weight", &weight}, {"bias", &bias}};
}

namespace {

// Elements a task takes: long against the start of a task (microseconds).
constexpr int64_t kBlock = 16384;

}  // namespace

Tensor LayerNorm::Forward(const TensorView& x, int threads) const {
  const int64_t size = weight.shape()[0];
  const Rows rows("LayerNorm", x, size, "size");
  Tensor out(DType::kF32, rows.view().shape);
  const float* const from = rows.data();
  float* const to = out.AsMutable<float>();
  const SimdTarget target = WidestSimdTarget();
  const int64_t block =
      std::max<int64_t>(1, kBlock / std::max<int64_t>(1, size));
  ParallelFor(CeilDiv(rows.count(), block), threads, [&](int64_t task, int) {
    const ScopedFloatState float_state;
    const int64_t end = std::min(rows.count(), (task + 1) * block);
    for (int64_t i = task * block; i < end; ++i) {
      LayerNormOn(target, {.x = from + i * size,
                           .gain = weight.data(),
                           .bias = bias.data(),
                           .out = to + i * size,
                           .size = size,
                           .eps = eps});
    }
  });
  return out;
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
