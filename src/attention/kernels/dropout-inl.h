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

#if HWY_TARGET != HWY_SCALAR  // whose vectors have nothing to interleave

// The keys of all rounds, in every lane.
struct RoundKeys {
  HWY_INLINE explicit RoundKeys(const DropoutRow& row) {
    const hn::ScalableTag<uint64_t> d64;
    uint32_t key0 = row.key[0], key1 = row.key[1];
    for (int round = 0; round < Philox::kRounds; ++round) {
      hn::Store(hn::Set(d64, key0), d64, keys[round][0]);
      hn::Store(hn::Set(d64, key1), d64, keys[round][1]);
      key0 += Philox::kWeyl0;
      key1 += Philox::kWeyl1;
    }
  }
  HWY_ALIGN uint64_t keys[Philox::kRounds][2][HWY_LANES(uint64_t)];
};

// Philox4x32-10 of as many counters as a vector has 64-bit lanes: one word in
// the lower half of each lane. What stands in the upper halves has no
// influence: products are those of the lower ones.
template <class D64, class V = hn::Vec<D64>>
HWY_INLINE void PhiloxWords(D64 d64, const RoundKeys& keys, V (&words)[4]) {
  const hn::Repartition<uint32_t, D64> d32;
  const V multiplier0 = hn::Set(d64, Philox::kMultiplier0);
  const V multiplier1 = hn::Set(d64, Philox::kMultiplier1);
  const auto product = [&](V a, V b) HWY_ATTR {
    return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
  };
  for (const auto& key : keys.keys) {
    const V a = product(words[0], multiplier0);
    const V b = product(words[2], multiplier1);
    words[0] = hn::Xor3(hn::ShiftRight<32>(b), words[1], hn::Load(d64, key[0]));
    words[2] = hn::Xor3(hn::ShiftRight<32>(a), words[3], hn::Load(d64, key[1]));
    words[1] = b;
    words[3] = a;
  }
}

// Counters of a vector, so that WordsInOrder finds what its name says:
// interleaving takes lanes of one 128-bit block each, so even lanes hold the
// first half of the counters and odd lanes the second half.
template <class D64>
HWY_INLINE hn::Vec<D64> CounterOrder(D64 d64) {
  const auto lane = hn::Iota(d64, 0), one = hn::Set(d64, 1);
  const auto half = hn::Set(d64, hn::Lanes(d64) / 2);
  return hn::Add(hn::ShiftRight<1>(lane),
                 hn::IfThenElseZero(hn::TestBit(lane, one), half));
}

// What PhiloxWords leaves of counters that follow each other as CounterOrder
// says, in the order of their keys: two vectors.
template <class D64, class V = hn::Vec<D64>,
          class V32 = hn::Vec<hn::Repartition<uint32_t, D64>>>
HWY_INLINE void WordsInOrder(D64 d64, const V (&words)[4], V32& first,
                             V32& second) {
  const hn::Repartition<uint32_t, D64> d32;
  const auto pair = [&](V low, V high) HWY_ATTR {
    return hn::BitCast(d64,
                       hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(high)),
                                   hn::BitCast(d32, low)));
  };
  const V low = pair(words[0], words[1]), high = pair(words[2], words[3]);
  first = hn::BitCast(d32, hn::InterleaveLower(d64, low, high));
  second = hn::BitCast(d32, hn::InterleaveUpper(d64, low, high));
}

// Weights in two vectors become 0 where their word is below the limit.
template <class D32, class V32 = hn::Vec<D32>>
HWY_INLINE void DropVectors(D32 d32, V32 first, V32 second, V32 limit,
                            uint32_t* HWY_RESTRICT weights) {
  const auto drop = [&](V32 words, uint32_t* at) HWY_ATTR {
    hn::StoreU(hn::IfThenZeroElse(hn::Lt(words, limit), hn::LoadU(d32, at)),
               d32, at);
  };
  drop(first, weights);
  drop(second, weights + hn::Lanes(d32));
}

// Weights of kBytes each: weight i becomes 0 where key first_key + i is
// dropped, a multiple of 4.
template <size_t kBytes>
HWY_INLINE void DropWeights(unsigned char* weights, int64_t count,
                            int64_t first_key, const DropoutRow& row) {
  using Bits = hwy::UnsignedFromSize<kBytes>;
  const hn::ScalableTag<uint64_t> d64;
  const hn::Repartition<uint32_t, decltype(d64)> d32;
  constexpr int64_t kKeys = 2 * HWY_LANES(uint32_t);
  const RoundKeys keys(row);
  const auto order = CounterOrder(d64);
  const auto limit = hn::Set(d32, row.threshold);
  const uint32_t counter = static_cast<uint32_t>(first_key / kKeysPerCounter);
  HWY_ALIGN uint32_t ordered[kKeys];
  for (int64_t i = 0; i < count; i += kKeys) {
    const uint32_t at = counter + static_cast<uint32_t>(i / kKeysPerCounter);
    hn::Vec<decltype(d64)> words[4] = {
        hn::Add(hn::Set(d64, at), order), hn::Set(d64, row.query),
        hn::Set(d64, row.head), hn::Set(d64, row.sequence)};
    PhiloxWords(d64, keys, words);
    hn::Vec<decltype(d32)> first, second;
    WordsInOrder(d64, words, first, second);
    if (kBytes == sizeof(uint32_t) && count - i >= kKeys) {
      DropVectors(d32, first, second, limit,
                  reinterpret_cast<uint32_t*>(weights) + i);
      continue;
    }
    hn::Store(first, d32, ordered);
    hn::Store(second, d32, ordered + hn::Lanes(d32));
    for (int64_t k = 0; k < HWY_MIN(kKeys, count - i); ++k) {
      unsigned char* weight = weights + (i + k) * static_cast<int64_t>(kBytes);
      Bits bits;
      hwy::CopyBytes<kBytes>(weight, &bits);
      bits = ordered[k] < row.threshold ? Bits{0} : bits;
      hwy::CopyBytes<kBytes>(&bits, weight);
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
