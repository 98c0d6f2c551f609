#include "stream_read.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stream_read.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <benchmark/benchmark.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "base/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kSums = 8;
constexpr size_t kAheadBytes = 4096;

void SumFloats(const float* data, size_t count, float* sink) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sums[kSums];
  HWY_UNROLL(8)
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  for (size_t at = 0; at + kSums * lanes <= count; at += kSums * lanes) {
    for (size_t line = 0; line < kSums * lanes; line += 16) {
      hwy::Prefetch(data + at + line + kAheadBytes / sizeof(float));
    }
    HWY_UNROLL(8)
    for (int i = 0; i < kSums; ++i) {
      sums[i] = hn::Add(
          sums[i], hn::LoadU(d, data + at + static_cast<size_t>(i) * lanes));
    }
  }
  auto sum = sums[0];
  for (int i = 1; i < kSums; ++i) sum = hn::Add(sum, sums[i]);
  *sink = hn::GetLane(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regard::inline v0 {

HWY_EXPORT(SumFloats);

void RunStreamRead(std::span<const std::span<const float>> arrays,
                   int threads) {
  constexpr size_t kPiece = size_t{1} << 18;  // floats: 1 MiB
  for (const std::span<const float> array : arrays) {
    const int64_t pieces =
        static_cast<int64_t>((array.size() + kPiece - 1) / kPiece);
    ParallelFor(pieces, threads, [&](int64_t piece, int) {
      const size_t begin = static_cast<size_t>(piece) * kPiece;
      float sink = 0;
      HWY_DYNAMIC_DISPATCH(SumFloats)
      (array.data() + begin, std::min(kPiece, array.size() - begin), &sink);
      benchmark::DoNotOptimize(sink);
    });
  }
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
