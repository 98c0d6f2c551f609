#include "bench/fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_peak.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/highway.h>

#include "attention/kernels/target_index.h"
#include "base/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 chains cover the latency of two units of four cycles each.
constexpr int kChains = 12;

// Returns operations; `sink` keeps the compiler from dropping them.
template <typename T>
double FmaChains(int64_t rounds, T* sink) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, T(0.999));
  const auto term = hn::Set(d, *sink);
  hn::Vec<decltype(d)> chains[kChains];
  HWY_UNROLL(12)
  for (int c = 0; c < kChains; ++c) chains[c] = hn::Set(d, T(c));
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

double FmaChainsF32(int64_t rounds, float* sink) {
  return FmaChains(rounds, sink);
}
double FmaChainsF64(int64_t rounds, double* sink) {
  return FmaChains(rounds, sink);
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regard::inline v0 {

HWY_EXPORT(FmaChainsF32);
HWY_EXPORT(FmaChainsF64);

namespace {

template <typename T, typename Chains>
double OnThreads(const Chains& chains, int64_t rounds, int threads) {
  double operations = 0;
  ParallelFor(threads, threads, [&](int64_t task, int) {
    volatile T start = T(1e-6);  // a value that the compiler can't know
    T sink = start;
    const double done = chains(rounds, &sink);
    start = sink;
    if (task == 0) operations = done * threads;
  });
  return operations;
}

}  // namespace

double RunFmaChains(DType dtype, SimdTarget target, int64_t rounds,
                    int threads) {
  const size_t index = TargetIndex(target);
  return dtype == DType::kF64
             ? OnThreads<double>(HWY_DISPATCH_TABLE(FmaChainsF64)[index],
                                 rounds, threads)
             : OnThreads<float>(HWY_DISPATCH_TABLE(FmaChainsF32)[index], rounds,
                                threads);
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
