// The arithmetic of the decode loop, built once per instruction set.
#include "attention/kernels/decode_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/decode.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "attention/kernels/exp2-inl.h"
#include "attention/kernels/flash_ops.h"
#include "attention/kernels/softmax_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE

const DecodeOps<float>* DecodeOpsF32() { return nullptr; }
const DecodeOps<double>* DecodeOpsF64() { return nullptr; }

#else

namespace hn = hwy::HWY_NAMESPACE;

// A tile of rows x keys has one sum per score, 4 x 4 of 32 registers or 2 x 4
// of 16, and the 4 loaded keys; a tile of rows x value vectors 16 (8) sums.
constexpr int64_t kTileKeys = 4;
#if REGARD_32_REGISTERS
constexpr int kMaxTileRows = 4;
constexpr int kTileSums = 16;
#else
constexpr int kMaxTileRows = 2;
constexpr int kTileSums = 8;
#endif

#if HWY_TARGET <= HWY_AVX2
constexpr bool kReadsTails = true;
#else
constexpr bool kReadsTails = false;  // MaskedLoad reads what it drops
#endif

// Additions of a chain: longer dot products are summed in pieces.
constexpr int64_t kMaxChain = 64;

// Keys fetched ahead of their dot products: 8 KiB at D = 128, far enough for
// memory.
constexpr int64_t kKeysAhead = 16;

// Keys whose values are accumulated one column panel after the other, while
// those of the next chunk are fetched.
constexpr int64_t kChunk = 64;

constexpr int64_t kLineBytes = 64;

// Fetches rows of memory, a few lines at a time and in order of addresses,
// which is what the hardware's own prefetching goes along with.
template <typename T>
struct Fetcher {
  const T* row;
  int64_t stride, columns;
  int64_t at = 0;

  template <int kLines>
  HWY_INLINE void Next() {
    constexpr int64_t kPerLine = kLineBytes / static_cast<int64_t>(sizeof(T));
    for (int line = 0; line < kLines; ++line) {
      hwy::Prefetch(row + at + line * kPerLine);
    }
    at += kLines * kPerLine;
    if (at >= columns) {
      at = 0;
      row += stride;
    }
  }
};

// ---------------------------------------------------------------- scores

// The sum of the 128-bit blocks of a vector.
template <class D, class V>
HWY_INLINE auto SumOfBlocks([[maybe_unused]] D d, V v) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 16) {
    return v;
  } else {
    const hn::Half<D> half;
    return SumOfBlocks(half,
                       hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

template <class D>
using BlockOf = hn::Simd<hn::TFromD<D>, 16 / sizeof(hn::TFromD<D>), 0>;

// The sums of the lanes of kTileKeys vectors, stored or added. Every sum is
// formed in the same way, whichever of the four it is.
template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE void StoreSums(D d, const V (&v)[kTileKeys], bool add, float* s) {
  const hn::Repartition<double, D> wide;
  const V v01 = hn::Add(hn::InterleaveLower(d, v[0], v[1]),
                        hn::InterleaveUpper(d, v[0], v[1]));
  const V v23 = hn::Add(hn::InterleaveLower(d, v[2], v[3]),
                        hn::InterleaveUpper(d, v[2], v[3]));
  const auto w01 = hn::BitCast(wide, v01), w23 = hn::BitCast(wide, v23);
  const V all = hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, w01, w23)),
                        hn::BitCast(d, hn::InterleaveUpper(wide, w01, w23)));
  const BlockOf<D> block;
  auto sums = SumOfBlocks(d, all);
  if (add) sums = hn::Add(hn::LoadU(block, s), sums);
  hn::StoreU(sums, block, s);
}

template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 8>* = nullptr>
HWY_INLINE void StoreSums(D d, const V (&v)[kTileKeys], bool add, double* s) {
  const BlockOf<D> block;
  HWY_UNROLL(2)
  for (int i = 0; i < kTileKeys; i += 2) {
    const V all = hn::Add(hn::InterleaveLower(d, v[i], v[i + 1]),
                          hn::InterleaveUpper(d, v[i], v[i + 1]));
    auto sums = SumOfBlocks(d, all);
    if (add) sums = hn::Add(hn::LoadU(block, s + i), sums);
    hn::StoreU(sums, block, s + i);
  }
}

template <typename T>
struct ScoresArgs {
  const T* q;
  int64_t q_stride;
  int64_t depth;
  T* s;
};

// kRows rows x kTileKeys keys, fetching as many.
template <int kRows, typename T>
HWY_INLINE void ScoreTile(const ScoresArgs<T>& a,
                          const T* const (&k)[kTileKeys], Fetcher<T>* fetcher) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int kLinesPerStep =
      static_cast<int>(kTileKeys * kLanes * sizeof(T) / kLineBytes);
  using V = hn::Vec<decltype(d)>;
  int64_t i = 0;
  do {
    const int64_t end = HWY_MIN(i + kMaxChain * kLanes, a.depth);
    const bool add = i > 0;
    V sums[kRows][kTileKeys];
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int j = 0; j < kTileKeys; ++j) sums[r][j] = hn::Zero(d);
    }
    const auto multiply = [&](const V(&loaded)[kTileKeys]) HWY_ATTR {
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) {
        const V q = hn::Load(d, a.q + r * a.q_stride + i);
        HWY_UNROLL(4)
        for (int j = 0; j < kTileKeys; ++j) {
          sums[r][j] = hn::MulAdd(q, loaded[j], sums[r][j]);
        }
      }
    };
    for (; i + kLanes <= end; i += kLanes) {
      const V loaded[kTileKeys] = {
          hn::LoadU(d, k[0] + i), hn::LoadU(d, k[1] + i),
          hn::LoadU(d, k[2] + i), hn::LoadU(d, k[3] + i)};
      multiply(loaded);
      if (fetcher != nullptr) fetcher->template Next<kLinesPerStep>();
    }
    if (kReadsTails && i < end) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(end - i));
      const V loaded[kTileKeys] = {
          hn::MaskedLoad(mask, d, k[0] + i), hn::MaskedLoad(mask, d, k[1] + i),
          hn::MaskedLoad(mask, d, k[2] + i), hn::MaskedLoad(mask, d, k[3] + i)};
      multiply(loaded);
      i = end;
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      StoreSums(d, sums[r], add, a.s + r * kScoreStride<T>);
    }
  } while (i < a.depth);
}

template <typename T>
void Scores(int64_t rows, const T* q, int64_t q_stride, const T* k,
            int64_t k_stride, int64_t depth, int64_t count, T* s) {
  for (int64_t j = 0; j < count; j += kTileKeys) {
    // The last tile repeats the last key.
    const auto key = [&](int64_t i) HWY_ATTR {
      return k + HWY_MIN(i, count - 1) * k_stride;
    };
    const bool more = j + kKeysAhead < count;
    Fetcher<T> fetcher = {key(j + kKeysAhead), more ? k_stride : 0, depth};
    const T* const keys[kTileKeys] = {key(j), key(j + 1), key(j + 2),
                                      key(j + 3)};
    for (int64_t r = 0; r < rows; r += kMaxTileRows) {
      const ScoresArgs<T> args = {q + r * q_stride, q_stride, depth,
                                  s + r * kScoreStride<T> + j};
      Fetcher<T>* const first = r == 0 ? &fetcher : nullptr;
      if (rows - r == 1) {
        ScoreTile<1>(args, keys, first);
      } else if (kMaxTileRows == 2 || rows - r == 2) {
        ScoreTile<2>(args, keys, first);
      } else {
        ScoreTile<kMaxTileRows>(args, keys, first);
      }
    }
  }
}

// ---------------------------------------------------------------- output

template <typename T>
struct AccumulateArgs {
  const T* p;  // [kRows][kScoreStride]
  const T* v;
  int64_t v_stride, count;
  T* out;
  int64_t out_stride;
  Fetcher<T>* fetcher;
};

// kRows rows x kVectors vectors of columns; of the last one `last` columns when
// kTail.
template <int kRows, int kVectors, bool kTail, typename T>
HWY_INLINE void AccumulatePanel(const AccumulateArgs<T>& a, int64_t column,
                                int64_t last) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int kLines =
      HWY_MAX(1, static_cast<int>(kVectors * kLanes * sizeof(T) / kLineBytes));
  using V = hn::Vec<decltype(d)>;
  const auto mask = hn::FirstN(d, static_cast<size_t>(kTail ? last : kLanes));
  V sums[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      sums[r][j] = hn::Load(d, a.out + r * a.out_stride + column + j * kLanes);
    }
  }
  const T* v = a.v + column;
  for (int64_t i = 0; i < a.count; ++i) {
    V loaded[kVectors];
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      if (kTail && j == kVectors - 1) {
        loaded[j] = hn::MaskedLoad(mask, d, v + j * kLanes);
      } else {
        loaded[j] = hn::LoadU(d, v + j * kLanes);
      }
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const V p = hn::Set(d, a.p[r * kScoreStride<T> + i]);
      HWY_UNROLL(8)
      for (int j = 0; j < kVectors; ++j) {
        sums[r][j] = hn::MulAdd(p, loaded[j], sums[r][j]);
      }
    }
    v += a.v_stride;
    if (a.fetcher != nullptr) a.fetcher->template Next<kLines>();
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      hn::Store(sums[r][j], d, a.out + r * a.out_stride + column + j * kLanes);
    }
  }
}

template <int kRows, typename T>
HWY_INLINE void AccumulateTile(const AccumulateArgs<T>& a, int64_t columns) {
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int kWide = HWY_MIN(8, kTileSums / kRows);
  int64_t column = 0;
  for (; column + kWide * kLanes <= columns; column += kWide * kLanes) {
    AccumulatePanel<kRows, kWide, false>(a, column, 0);
  }
  for (; column + kLanes <= columns; column += kLanes) {
    AccumulatePanel<kRows, 1, false>(a, column, 0);
  }
  if (kReadsTails && column < columns) {
    AccumulatePanel<kRows, 1, true>(a, column, columns - column);
  }
}

template <typename T>
HWY_INLINE void AccumulateChunk(AccumulateArgs<T> args, int64_t rows,
                                int64_t columns) {
  for (int64_t r = 0; r < rows; r += kMaxTileRows) {
    if (rows - r == 1) {
      AccumulateTile<1>(args, columns);
    } else if (kMaxTileRows == 2 || rows - r == 2) {
      AccumulateTile<2>(args, columns);
    } else {
      AccumulateTile<kMaxTileRows>(args, columns);
    }
    args.fetcher = nullptr;  // once for all rows
    args.p += kMaxTileRows * kScoreStride<T>;
    args.out += kMaxTileRows * args.out_stride;
  }
}

template <typename T>
void Accumulate(int64_t rows, const T* p, const T* v, int64_t v_stride,
                int64_t count, int64_t columns, T* out, int64_t out_stride) {
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t n = HWY_MIN(kChunk, count - i);
    const bool more = i + 2 * kChunk <= count;
    Fetcher<T> fetcher = {v + (more ? i + kChunk : i) * v_stride, v_stride,
                          columns};
    AccumulateChunk(AccumulateArgs<T>{p + i, v + i * v_stride, v_stride, n, out,
                                      out_stride, more ? &fetcher : nullptr},
                    rows, columns);
  }
}

// In the same order of additions as above.
template <typename T>
void AccumulateVisible(const T* p, const T* v, int64_t v_stride, int64_t count,
                       int64_t columns, const uint8_t* hidden, T* out) {
  AccumulateArgs<T> args;
  args.v_stride = v_stride;
  args.count = 1;
  args.out = out;
  args.out_stride = 0;
  args.fetcher = nullptr;
  for (int64_t i = 0; i < count; ++i) {
    if (hidden[i]) continue;
    args.p = p + i;
    args.v = v + i * v_stride;
    AccumulateTile<1>(args, columns);
  }
}

template <typename T>
void Merge(const T* part, T part_max, T part_sum, T log2_scale, int64_t columns,
           T* out, T* max, T* sum) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const T top = part_max > *max ? part_max : *max;
  const auto factor = [&](T from) HWY_ATTR {
    return Exp2(d, hn::Set(d, (from - Subtrahend(top)) * log2_scale));
  };
  const auto old_factor = factor(*max), factor_of_part = factor(part_max);
  *max = top;
  *sum =
      *sum * hn::GetLane(old_factor) + part_sum * hn::GetLane(factor_of_part);
  for (int64_t i = 0; i < columns; i += kLanes) {
    const auto scaled = hn::Mul(hn::Load(d, part + i), factor_of_part);
    const auto old = hn::Load(d, out + i);
    hn::Store(hn::MulAdd(old, old_factor, scaled), d, out + i);
  }
}

template <typename T>
const DecodeOps<T>* Ops() {
  static const DecodeOps<T> ops = {
      .lanes = HWY_LANES(T),
      .reads_tails = kReadsTails,
      .scores = Scores<T>,
      .accumulate = Accumulate<T>,
      .accumulate_visible = AccumulateVisible<T>,
      .merge = Merge<T>,
  };
  return &ops;
}

const DecodeOps<float>* DecodeOpsF32() { return Ops<float>(); }
const DecodeOps<double>* DecodeOpsF64() { return Ops<double>(); }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "attention/kernels/target_index.h"

namespace regard::inline v0 {

HWY_EXPORT(DecodeOpsF32);
HWY_EXPORT(DecodeOpsF64);

template <>
const DecodeOps<float>* DecodeOpsFor<float>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(DecodeOpsF32)[TargetIndex(target)]();
}

template <>
const DecodeOps<double>* DecodeOpsFor<double>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(DecodeOpsF64)[TargetIndex(target)]();
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
