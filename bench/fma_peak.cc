#include "fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <benchmark/benchmark.h>
#include <hwy/highway.h>

#include "base/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 chains cover the latency of two units of four cycles each.
constexpr int kChains = 12;

// Returns operations; `sink` keeps the compiler from dropping them.
double FmaChains(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f);
  const auto term = hn::Set(d, *sink);
  hn::Vec<decltype(d)> chains[kChains];
  HWY_UNROLL(12)
  for (int c = 0; c < kChains; ++c) chains[c] = hn::Iota(d, float(c));
  for (int64_t i = 0; i < rounds; ++i) {
    HWY_UNROLL(12)
    for (int c = 0; c < kChains; ++c) {
      chains[c] = hn::MulAdd(chains[c], factor, term);
    }
  }
  auto sum = hn::Zero(d);
  for (int c = 0; c < kChains; ++c) sum = hn::Add(sum, chains[c]);
  *sink = hn::GetLane(sum);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) *
         static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regard::inline v0 {

HWY_EXPORT(FmaChains);

double RunFmaChains(int64_t rounds, int threads) {
  double operations = 0;
  ParallelFor(threads, threads, [&](int64_t task, int) {
    float sink = 1e-6f;
    const double done = HWY_DYNAMIC_DISPATCH(FmaChains)(rounds, &sink);
    benchmark::DoNotOptimize(sink);
    if (task == 0) operations = done * threads;
  });
  return operations;
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
