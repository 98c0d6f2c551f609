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

// f16 below AVX2 is converted wrongly by Highway 1.0.3 at infinity and NaN.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
constexpr bool kConvertsF16 = true;
#else
constexpr bool kConvertsF16 = false;
#endif

// Additions of a chain: longer dot products are summed in pieces.
constexpr int64_t kMaxChain = 64;

// ---------------------------------------------------------------- memory

struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

template <class D>
HWY_INLINE hn::Vec<D> FromStored(D d, BF16,
                                 hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> FromStored(D d, F16,
                                 hn::Vec<hn::Rebind<uint16_t, D>> bits) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
}

// A vector of elements stored in the type of D, bf16 or f16.
template <class D, typename S>
HWY_INLINE hn::Vec<D> LoadStored(D d, const S* from) {
  if constexpr (sizeof(S) == 2) {
    const hn::Rebind<uint16_t, D> half;
    const auto* bits = reinterpret_cast<const uint16_t*>(from);
    return FromStored(d, S(), hn::LoadU(half, bits));
  } else {
    return hn::LoadU(d, from);
  }
}

// The same of `count` elements, 0 behind them. What lies there is not read.
template <class D, typename S>
HWY_INLINE hn::Vec<D> LoadTail(D d, const S* from, int64_t count) {
  if constexpr (sizeof(S) == 2) {
    const hn::Rebind<uint16_t, D> half;
    HWY_ALIGN uint16_t bits[HWY_LANES(float)] = {};
    for (int64_t i = 0; i < count; ++i) bits[i] = from[i].bits;
    return FromStored(d, S(), hn::Load(half, bits));
  } else {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
  }
}

// Few rows are bound by memory. What they read, they read in order of
// addresses, one key after the other: the hardware then fetches ahead by
// itself, better than when it is told to. More rows are bound by arithmetic,
// whose best order is another one: for them lines are fetched, evenly and in
// order of addresses too. Up to these row counts the first way was the faster
// one; of values it takes sums of 2 rows x 8 vectors.
#if HWY_TARGET <= HWY_AVX3
template <typename S>
constexpr int64_t kStreamedScoreRows = sizeof(S) == 2 ? 2 : 6;
constexpr int64_t kStreamedValueRows = 8;
#else
template <typename S>
constexpr int64_t kStreamedScoreRows = 2;
constexpr int64_t kStreamedValueRows = 0;
#endif

// Bytes between what is used and what is fetched. All fetching stops at a page
// whose address has not been translated yet, which takes a virtual machine as
// long as reading half of the page: so one line of every page is fetched long
// before the others.
constexpr int64_t kKeyBytesAhead = 4096;
constexpr int64_t kValueBytesAhead = 8192;
constexpr int64_t kPageBytesAhead = 32768;

constexpr int64_t kLineBytes = 64;
constexpr int kPageBits = 12;

// Keys whose values are accumulated one column panel after the other: they and
// those that are fetched stay in the first-level cache.
constexpr int64_t kChunk = 16;

HWY_INLINE void FetchLine(uintptr_t at) {
  hwy::Prefetch(reinterpret_cast<const uint8_t*>(at));
}

// Rows of keys or values. Addresses are numbers, since some lie behind the last
// row: fetching them does no harm.
class MemoryRows {
 public:
  template <typename T>
  MemoryRows(const T* rows, int64_t stride, int64_t columns)
      : at_(reinterpret_cast<uintptr_t>(rows)),
        stride_(stride * static_cast<int64_t>(sizeof(T))),
        bytes_(HWY_MAX(columns, 1) * static_cast<int64_t>(sizeof(T))) {}

  uintptr_t Row(int64_t i) const {
    return at_ + static_cast<uintptr_t>(i * stride_);
  }
  int64_t stride() const { return stride_; }
  int64_t bytes() const { return bytes_; }

  // Has the addresses of `count` rows translated that will be read when
  // kPageBytesAhead more have been.
  HWY_INLINE void FetchPages(int64_t row, int64_t count) {
    const int64_t first = row + kPageBytesAhead / bytes_;
    for (int64_t i = first; i < first + count; ++i) {
      const uintptr_t at = Row(i);
      if (((at ^ page_) >> kPageBits) == 0) continue;
      FetchLine(at);
      page_ = at;
    }
  }

 private:
  uintptr_t at_;
  int64_t stride_, bytes_;
  uintptr_t page_ = 0;
};

// Fetches `count` rows in order of addresses, evenly over the `shares` of the
// work that goes on meanwhile.
class Fetcher {
 public:
  Fetcher() = default;
  Fetcher(const MemoryRows& rows, int64_t first, int64_t count, int64_t shares)
      : at_(rows.Row(first)),
        end_(at_ + static_cast<uintptr_t>(rows.bytes())),
        stride_(rows.stride()),
        bytes_(rows.bytes()),
        count_(count),
        shares_(shares) {}

  // `shares` more of the work begin: that many more rows may be fetched.
  HWY_INLINE void Begin(int64_t shares) {
    if (count_ == 0) return;
    const int64_t before = count_ * begun_ / shares_;
    begun_ += shares;
    allowed_ += count_ * begun_ / shares_ - before;
  }

  // Fetches up to `lines` lines.
  HWY_INLINE void Lines(int64_t lines) {
    for (; lines > 0 && allowed_ > 0; --lines) {
      FetchLine(at_);
      at_ += kLineBytes;
      if (at_ >= end_) {
        end_ += static_cast<uintptr_t>(stride_);
        at_ = end_ - static_cast<uintptr_t>(bytes_);
        --allowed_;
      }
    }
  }

 private:
  uintptr_t at_ = 0, end_ = 0;
  int64_t stride_ = 0, bytes_ = 0;
  int64_t count_ = 0, shares_ = 1, begun_ = 0, allowed_ = 0;
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

template <int kRows, class V>
using ScoreSums = V[kRows][kTileKeys];

// Adds the products of elements [begin, end) of kRows rows and kTileKeys keys,
// one key after the other.
template <int kRows, typename T, typename S, class V>
HWY_INLINE void AddKeyByKey(const ScoresArgs<T>& a,
                            const S* const (&k)[kTileKeys], int64_t begin,
                            int64_t end, ScoreSums<kRows, V>& sums) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  HWY_UNROLL(4)
  for (int j = 0; j < kTileKeys; ++j) {
    const auto multiply = [&](int64_t i, V loaded) HWY_ATTR {
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) {
        const V q = hn::Load(d, a.q + r * a.q_stride + i);
        sums[r][j] = hn::MulAdd(q, loaded, sums[r][j]);
      }
    };
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) multiply(i, LoadStored(d, k[j] + i));
    if (kReadsTails && i < end) {
      multiply(i, LoadTail(d, k[j] + i, end - i));
    }
  }
}

// The same, the keys side by side: a loaded q serves all of them. Fetches
// `lines` lines per vector of a row.
template <int kRows, typename T, typename S, class V>
HWY_INLINE void AddSideBySide(const ScoresArgs<T>& a,
                              const S* const (&k)[kTileKeys], int64_t begin,
                              int64_t end, Fetcher& fetcher, int64_t lines,
                              ScoreSums<kRows, V>& sums) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  const auto multiply = [&](int64_t i, const V(&loaded)[kTileKeys]) HWY_ATTR {
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const V q = hn::Load(d, a.q + r * a.q_stride + i);
      HWY_UNROLL(4)
      for (int j = 0; j < kTileKeys; ++j) {
        sums[r][j] = hn::MulAdd(q, loaded[j], sums[r][j]);
      }
    }
  };
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    fetcher.Lines(lines);
    multiply(i, {LoadStored(d, k[0] + i), LoadStored(d, k[1] + i),
                 LoadStored(d, k[2] + i), LoadStored(d, k[3] + i)});
  }
  if (kReadsTails && i < end) {
    multiply(i,
             {LoadTail(d, k[0] + i, end - i), LoadTail(d, k[1] + i, end - i),
              LoadTail(d, k[2] + i, end - i), LoadTail(d, k[3] + i, end - i)});
  }
}

// Scores of kRows rows x kTileKeys keys; key by key, or side by side with
// `lines` to fetch.
template <int kRows, bool kKeyByKey, typename T, typename S>
HWY_INLINE void ScoreTile(const ScoresArgs<T>& a,
                          const S* const (&k)[kTileKeys], Fetcher& fetcher,
                          int64_t lines) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  using V = hn::Vec<decltype(d)>;
  int64_t begin = 0;
  do {
    const int64_t end = HWY_MIN(begin + kMaxChain * kLanes, a.depth);
    ScoreSums<kRows, V> sums;
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int j = 0; j < kTileKeys; ++j) sums[r][j] = hn::Zero(d);
    }
    if constexpr (kKeyByKey) {
      AddKeyByKey<kRows>(a, k, begin, end, sums);
    } else {
      AddSideBySide<kRows>(a, k, begin, end, fetcher, lines, sums);
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      StoreSums(d, sums[r], begin > 0, a.s + r * kScoreStride<T>);
    }
    begin = end;
  } while (begin < a.depth);
}

// Scores of the rows from `row` on against one tile of keys.
template <typename T, typename S>
HWY_INLINE void ScoreTiles(ScoresArgs<T> a, int64_t rows,
                           const S* const (&k)[kTileKeys], Fetcher fetcher,
                           int64_t lines) {
  while (rows > 0) {
    fetcher.Begin(1);
    if (rows == 1) {
      ScoreTile<1, false>(a, k, fetcher, lines);
    } else if (kMaxTileRows == 2 || rows == 2) {
      ScoreTile<2, false>(a, k, fetcher, lines);
    } else {
      ScoreTile<kMaxTileRows, false>(a, k, fetcher, lines);
    }
    a.q += kMaxTileRows * a.q_stride;
    a.s += kMaxTileRows * kScoreStride<T>;
    rows -= kMaxTileRows;
  }
}

// The same for few rows: the first two stream the keys, the others find them in
// the cache.
template <typename T, typename S>
HWY_INLINE void StreamedScoreTiles(ScoresArgs<T> a, int64_t rows,
                                   const S* const (&k)[kTileKeys]) {
  Fetcher none;
  if (rows == 1) return ScoreTile<1, true>(a, k, none, 0);
  ScoreTile<2, true>(a, k, none, 0);
  a.q += 2 * a.q_stride;
  a.s += 2 * kScoreStride<T>;
  ScoreTiles(a, rows - 2, k, none, 0);
}

template <typename T, typename S>
void Scores(int64_t rows, const T* q, int64_t q_stride, const void* stored,
            int64_t k_stride, int64_t depth, int64_t count, T* s) {
  const S* const k = static_cast<const S*>(stored);
  constexpr int64_t kLinesPerStep = HWY_MAX(
      1,
      static_cast<int64_t>(kTileKeys * HWY_LANES(T) * sizeof(S) / kLineBytes));
  MemoryRows keys(k, k_stride, depth);
  const int64_t ahead = kKeyBytesAhead / keys.bytes();
  const int64_t tiles = (rows + kMaxTileRows - 1) / kMaxTileRows;
  const int64_t lines = (kLinesPerStep + tiles - 1) / tiles;
  for (int64_t j = 0; j < count; j += kTileKeys) {
    keys.FetchPages(j, kTileKeys);
    // The last tile repeats the last key.
    const auto key = [&](int64_t i) HWY_ATTR {
      return k + HWY_MIN(i, count - 1) * k_stride;
    };
    const S* const tile[kTileKeys] = {key(j), key(j + 1), key(j + 2),
                                      key(j + 3)};
    const ScoresArgs<T> args = {q, q_stride, depth, s + j};
    if (rows <= kStreamedScoreRows<S>) {
      StreamedScoreTiles(args, rows, tile);
    } else {
      ScoreTiles(args, rows, tile, Fetcher(keys, j + ahead, kTileKeys, tiles),
                 lines);
    }
  }
}

// ---------------------------------------------------------------- output

template <typename T, typename S>
struct AccumulateArgs {
  const T* p;  // [kRows][kScoreStride]
  const S* v;
  int64_t v_stride, count;
  T* out;
  int64_t out_stride;
};

// kRows rows x kVectors vectors of columns; of the last one `last` columns when
// kTail. Fetches for one of `tiles` tiles of rows.
template <int kRows, int kVectors, bool kTail, typename T, typename S>
HWY_INLINE void AccumulatePanel(const AccumulateArgs<T, S>& a, int64_t column,
                                int64_t last, int64_t tiles, Fetcher& fetcher) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int64_t kPanelBytes =
      kVectors * kLanes * static_cast<int64_t>(sizeof(S));
  using V = hn::Vec<decltype(d)>;
  V sums[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      sums[r][j] = hn::Load(d, a.out + r * a.out_stride + column + j * kLanes);
    }
  }
  fetcher.Begin(kVectors);
  const int64_t lines =
      (kPanelBytes + tiles * kLineBytes - 1) / (tiles * kLineBytes);
  const S* v = a.v + column;
  for (int64_t i = 0; i < a.count; ++i) {
    fetcher.Lines(lines);
    V loaded[kVectors];
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      if (kTail && j == kVectors - 1) {
        loaded[j] = LoadTail(d, v + j * kLanes, last);
      } else {
        loaded[j] = LoadStored(d, v + j * kLanes);
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
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      hn::Store(sums[r][j], d, a.out + r * a.out_stride + column + j * kLanes);
    }
  }
}

template <int kRows, typename T, typename S>
HWY_INLINE void AccumulateTile(const AccumulateArgs<T, S>& a, int64_t columns,
                               int64_t tiles, Fetcher& fetcher) {
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int kWide = HWY_MIN(8, kTileSums / kRows);
  int64_t column = 0;
  for (; column + kWide * kLanes <= columns; column += kWide * kLanes) {
    AccumulatePanel<kRows, kWide, false>(a, column, 0, tiles, fetcher);
  }
  for (; column + kLanes <= columns; column += kLanes) {
    AccumulatePanel<kRows, 1, false>(a, column, 0, tiles, fetcher);
  }
  if (kReadsTails && column < columns) {
    AccumulatePanel<kRows, 1, true>(a, column, columns - column, tiles,
                                    fetcher);
  }
}

// All rows, kTileRows at a time.
template <int kTileRows, typename T, typename S>
HWY_INLINE void AccumulateChunk(AccumulateArgs<T, S> a, int64_t rows,
                                int64_t columns, Fetcher fetcher) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (; rows > 0; rows -= kTileRows) {
    if (rows == 1) {
      AccumulateTile<1>(a, columns, tiles, fetcher);
    } else if (kTileRows == 2 || rows == 2) {
      AccumulateTile<2>(a, columns, tiles, fetcher);
    } else {
      AccumulateTile<kTileRows>(a, columns, tiles, fetcher);
    }
    a.p += kTileRows * kScoreStride<T>;
    a.out += kTileRows * a.out_stride;
  }
}

template <typename T, typename S>
void Accumulate(int64_t rows, const T* p, const void* stored, int64_t v_stride,
                int64_t count, int64_t columns, T* out, int64_t out_stride) {
  const S* const v = static_cast<const S*>(stored);
  MemoryRows values(v, v_stride, columns);
  const int64_t ahead = kValueBytesAhead / values.bytes();
  const int64_t tiles = (rows + kMaxTileRows - 1) / kMaxTileRows;
  const int64_t vectors = (columns + HWY_LANES(T) - 1) / HWY_LANES(T);
  for (int64_t i = 0; i < count; i += kChunk) {
    values.FetchPages(i, kChunk);
    const AccumulateArgs<T, S> args = {p + i,    v + i * v_stride,
                                       v_stride, HWY_MIN(kChunk, count - i),
                                       out,      out_stride};
    if (rows <= kStreamedValueRows) {
      AccumulateChunk<2>(args, rows, columns, Fetcher());
    } else {
      AccumulateChunk<kMaxTileRows>(
          args, rows, columns,
          Fetcher(values, i + ahead, kChunk, tiles * vectors));
    }
  }
}

// In the same order of additions as above.
template <typename T, typename S>
void AccumulateVisible(const T* p, const void* stored, int64_t v_stride,
                       int64_t count, int64_t columns, const uint8_t* hidden,
                       T* out) {
  const S* const v = static_cast<const S*>(stored);
  Fetcher none;
  AccumulateArgs<T, S> args = {p, v, v_stride, 1, out, 0};
  for (int64_t i = 0; i < count; ++i) {
    if (hidden[i]) continue;
    args.p = p + i;
    args.v = v + i * v_stride;
    AccumulateTile<1>(args, columns, 1, none);
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

template <typename T, typename S>
const StoredOps<T>* Stored() {
  static const StoredOps<T> ops = {
      .scores = Scores<T, S>,
      .accumulate = Accumulate<T, S>,
      .accumulate_visible = AccumulateVisible<T, S>,
  };
  return &ops;
}

template <typename T>
DecodeOps<T> OpsWithout16Bits() {
  return {
      .lanes = HWY_LANES(T),
      .reads_tails = kReadsTails,
      .same = Stored<T, T>(),
      .bf16 = nullptr,
      .f16 = nullptr,
      .merge = Merge<T>,
  };
}

const DecodeOps<float>* DecodeOpsF32() {
  static const DecodeOps<float> ops = [] {
    DecodeOps<float> all = OpsWithout16Bits<float>();
    all.bf16 = Stored<float, BF16>();
    if constexpr (kConvertsF16) all.f16 = Stored<float, F16>();
    return all;
  }();
  return &ops;
}

const DecodeOps<double>* DecodeOpsF64() {
  static const DecodeOps<double> ops = OpsWithout16Bits<double>();
  return &ops;
}

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
