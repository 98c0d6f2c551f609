#include "bench/stream_read.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/stream_read.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attention/kernels/target_index.h"
#include "base/parallel_for.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kSums = 8;
// The hardware fetches lines by itself, better than when it is told to, but
// stops at every page whose address has not been translated.
constexpr size_t kAheadBytes = 32768, kPageBytes = 4096;

// As integers: no value that is slow to add. The last part that fills no kSums
// vectors is left out.
uint32_t SumWords(const uint32_t* data, size_t count) {
  const hn::ScalableTag<uint32_t> d;
  const size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sums[kSums];
  HWY_UNROLL(8)
  for (int i = 0; i < kSums; ++i) sums[i] = hn::Zero(d);
  for (size_t at = 0; at + kSums * lanes <= count; at += kSums * lanes) {
    if (at % (kPageBytes / sizeof(uint32_t)) == 0) {
      hwy::Prefetch(data + at + kAheadBytes / sizeof(uint32_t));
    }
    HWY_UNROLL(8)
    for (int i = 0; i < kSums; ++i) {
      sums[i] = hn::Add(
          sums[i], hn::LoadU(d, data + at + static_cast<size_t>(i) * lanes));
    }
  }
  auto sum = sums[0];
  for (int i = 1; i < kSums; ++i) sum = hn::Add(sum, sums[i]);
  return hn::GetLane(sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regard::inline v0 {

HWY_EXPORT(SumWords);

void RunStreamRead(std::span<const ByteSpan> arrays, SimdTarget target,
                   int threads) {
  constexpr size_t kPiece = size_t{1} << 20;  // bytes
  const auto sum = HWY_DISPATCH_TABLE(SumWords)[TargetIndex(target)];
  for (const ByteSpan array : arrays) {
    const auto pieces =
        static_cast<int64_t>((array.size() + kPiece - 1) / kPiece);
    ParallelFor(pieces, threads, [&](int64_t piece, int) {
      const size_t begin = static_cast<size_t>(piece) * kPiece;
      // Tensors are aligned for every type.
      const auto* words =
          reinterpret_cast<const uint32_t*>(array.data() + begin);
      [[maybe_unused]] volatile uint32_t sink =
          sum(words, std::min(kPiece, array.size() - begin) / sizeof(uint32_t));
    });
  }
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
