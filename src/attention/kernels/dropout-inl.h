// Dropout on a row of weights.
#if defined(REGARD_ATTENTION_KERNELS_DROPOUT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_DROPOUT_INL_H_
#undef REGARD_ATTENTION_KERNELS_DROPOUT_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "attention/philox.h"
#include "attention/score/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Philox4x32-10 of as many counters as a vector has 64-bit lanes: one word in
// the lower half of each lane. What stands in the upper halves has no
// influence: products are those of the lower ones.
template <class D64, class V = hn::Vec<D64>>
HWY_INLINE void PhiloxWords(D64 d64, const uint32_t (&key)[2], V (&words)[4]) {
  const hn::Repartition<uint32_t, D64> d32;
  const V multiplier0 = hn::Set(d64, Philox::kMultiplier0);
  const V multiplier1 = hn::Set(d64, Philox::kMultiplier1);
  uint32_t key0 = key[0], key1 = key[1];
  const auto product = [&](V a, V b) HWY_ATTR {
    return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
  };
  for (int round = 0; round < Philox::kRounds; ++round) {
    const V a = product(words[0], multiplier0);
    const V b = product(words[2], multiplier1);
    words[0] =
        hn::Xor(hn::Xor(hn::ShiftRight<32>(b), words[1]), hn::Set(d64, key0));
    words[2] =
        hn::Xor(hn::Xor(hn::ShiftRight<32>(a), words[3]), hn::Set(d64, key1));
    words[1] = b;
    words[3] = a;
    key0 += Philox::kWeyl0;
    key1 += Philox::kWeyl1;
  }
}

// Weights of kBytes each: weight i becomes 0 where key first_key + i is
// dropped, a multiple of 4.
template <size_t kBytes>
HWY_INLINE void DropWeights(unsigned char* weights, int64_t count,
                            int64_t first_key, const DropoutRow& row) {
  using Bits = hwy::UnsignedFromSize<kBytes>;
  const hn::ScalableTag<uint64_t> d64;
  constexpr int64_t kCounters = HWY_LANES(uint64_t);
  const uint32_t key[2] = {row.key[0], row.key[1]};
  const uint32_t first = static_cast<uint32_t>(first_key / kKeysPerCounter);
  HWY_ALIGN uint64_t words[kKeysPerCounter][kCounters];
  for (int64_t i = 0; i < count; i += kKeysPerCounter * kCounters) {
    const uint32_t at = first + static_cast<uint32_t>(i / kKeysPerCounter);
    hn::Vec<decltype(d64)> vectors[4] = {
        hn::Add(hn::Set(d64, at), hn::Iota(d64, 0)), hn::Set(d64, row.query),
        hn::Set(d64, row.head), hn::Set(d64, row.sequence)};
    PhiloxWords(d64, key, vectors);
    for (int64_t w = 0; w < kKeysPerCounter; ++w) {
      hn::Store(vectors[w], d64, words[w]);
    }
    const int64_t end = HWY_MIN(kKeysPerCounter * kCounters, count - i);
    for (int64_t k = 0; k < end; ++k) {
      const uint64_t word = words[k % kKeysPerCounter][k / kKeysPerCounter];
      const bool dropped = static_cast<uint32_t>(word) < row.threshold;
      unsigned char* at = weights + (i + k) * static_cast<int64_t>(kBytes);
      Bits bits;
      hwy::CopyBytes<kBytes>(at, &bits);
      bits = dropped ? Bits{0} : bits;
      hwy::CopyBytes<kBytes>(&bits, at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
