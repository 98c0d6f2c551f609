// Scores of a few rows: q . k, keys where they lie.
#if defined(REGARD_ATTENTION_KERNELS_DECODE_SCORES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_DECODE_SCORES_INL_H_
#undef REGARD_ATTENTION_KERNELS_DECODE_SCORES_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_DECODE_SCORES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "attention/kernels/decode_cells-inl.h"
#include "attention/kernels/decode_ops.h"
#include "attention/kernels/decode_tile-inl.h"
#include "attention/kernels/fetch_ahead-inl.h"
#include "attention/kernels/flash_ops.h"

#if REGARD_DECODES
HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Additions of a chain: longer dot products are summed in pieces.
constexpr int64_t kMaxChain = 64;

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

// {a0 + a2, b0 + b2, a1 + a3, b1 + b3} of each block of four lanes.
template <class D, class V>
HWY_INLINE V AddHalves(D d, V a, V b) {
  return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
}

template <class D>
using BlockOf = hn::Simd<hn::TFromD<D>, 16 / sizeof(hn::TFromD<D>), 0>;

// The sums of the lanes of four vectors, of which AddHalves has made two, in
// each block.
template <class D, class V>
HWY_INLINE V BlockSums(D d, V v01, V v23) {
  const hn::Repartition<double, D> wide;
  const auto w01 = hn::BitCast(wide, v01), w23 = hn::BitCast(wide, v23);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, w01, w23)),
                 hn::BitCast(d, hn::InterleaveUpper(wide, w01, w23)));
}

// The sums of the lanes of kTileKeys vectors, stored or added. Every sum is
// formed in the same way, whichever of the four it is.
template <class D, class V,
          hwy::EnableIf<sizeof(hn::TFromD<D>) == 4>* = nullptr>
HWY_INLINE void StoreSums(D d, const V (&v)[kTileKeys], bool add, float* s) {
  const V all =
      BlockSums(d, AddHalves(d, v[0], v[1]), AddHalves(d, v[2], v[3]));
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
    const V all = AddHalves(d, v[i], v[i + 1]);
    auto sums = SumOfBlocks(d, all);
    if (add) sums = hn::Add(hn::LoadU(block, s + i), sums);
    hn::StoreU(sums, block, s + i);
  }
}

template <class Cells>
struct ScoresArgs {
  const typename Cells::Number* q;
  int64_t q_stride;
  int64_t depth;
  typename Cells::Number* s;
};

template <class Cells>
using KeyTile = typename Cells::Key[kTileKeys];

template <int kRows, class V>
using ScoreSums = V[kRows][kTileKeys];

// Elements of a key that a vector holds.
template <class Cells>
constexpr int64_t kDepthStep = HWY_LANES(typename Cells::Number) * Cells::kPair;

// Adds the products of elements [begin, end) of kRows rows and kTileKeys keys,
// one key after the other.
template <class Cells, int kRows, class V>
HWY_INLINE void AddKeyByKey(const ScoresArgs<Cells>& a, const KeyTile<Cells>& k,
                            int64_t begin, int64_t end,
                            ScoreSums<kRows, V>& sums) {
  const hn::ScalableTag<typename Cells::Number> d;
  constexpr int64_t kStep = kDepthStep<Cells>;
  HWY_UNROLL(4)
  for (int j = 0; j < kTileKeys; ++j) {
    const auto multiply = [&](int64_t i, V loaded) HWY_ATTR {
      HWY_UNROLL(4)
      for (int r = 0; r < kRows; ++r) {
        const V q = hn::Load(d, a.q + r * a.q_stride + i / Cells::kPair);
        sums[r][j] = Cells::MulAdd(q, loaded, sums[r][j]);
      }
    };
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep) multiply(i, k[j].Load(d, i));
    if (kReadsTails && i < end) multiply(i, k[j].Tail(d, i, end - i));
  }
}

// The same, the keys side by side: a loaded q serves all of them. Fetches
// `lines` lines per vector of a row.
template <class Cells, int kRows, class V>
HWY_INLINE void AddSideBySide(const ScoresArgs<Cells>& a,
                              const KeyTile<Cells>& k, int64_t begin,
                              int64_t end, Fetcher& fetcher, int64_t lines,
                              ScoreSums<kRows, V>& sums) {
  const hn::ScalableTag<typename Cells::Number> d;
  constexpr int64_t kStep = kDepthStep<Cells>;
  const auto multiply = [&](int64_t i, const V(&loaded)[kTileKeys]) HWY_ATTR {
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const V q = hn::Load(d, a.q + r * a.q_stride + i / Cells::kPair);
      HWY_UNROLL(4)
      for (int j = 0; j < kTileKeys; ++j) {
        sums[r][j] = Cells::MulAdd(q, loaded[j], sums[r][j]);
      }
    }
  };
  int64_t i = begin;
  for (; i + kStep <= end; i += kStep) {
    fetcher.Lines(lines);
    multiply(i, {k[0].Load(d, i), k[1].Load(d, i), k[2].Load(d, i),
                 k[3].Load(d, i)});
  }
  if (kReadsTails && i < end) {
    const int64_t last = end - i;
    multiply(i, {k[0].Tail(d, i, last), k[1].Tail(d, i, last),
                 k[2].Tail(d, i, last), k[3].Tail(d, i, last)});
  }
}

// Scores of kRows rows x kTileKeys keys; key by key, or side by side with
// `lines` to fetch.
template <class Cells, int kRows, bool kKeyByKey>
HWY_INLINE void ScoreTile(const ScoresArgs<Cells>& a, const KeyTile<Cells>& k,
                          Fetcher& fetcher, int64_t lines) {
  using T = typename Cells::Number;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  int64_t begin = 0;
  do {
    const int64_t end = HWY_MIN(begin + kMaxChain * HWY_LANES(T), a.depth);
    ScoreSums<kRows, V> sums;
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int j = 0; j < kTileKeys; ++j) sums[r][j] = hn::Zero(d);
    }
    if constexpr (kKeyByKey) {
      AddKeyByKey<Cells, kRows>(a, k, begin, end, sums);
    } else {
      AddSideBySide<Cells, kRows>(a, k, begin, end, fetcher, lines, sums);
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      StoreSums(d, sums[r], begin > 0, a.s + r * kScoreStride<T>);
    }
    begin = end;
  } while (begin < a.depth);
}

// Scores of the rows from `row` on against one tile of keys.
template <class Cells>
HWY_INLINE void ScoreTiles(ScoresArgs<Cells> a, int64_t rows,
                           const KeyTile<Cells>& k, Fetcher fetcher,
                           int64_t lines) {
  while (rows > 0) {
    fetcher.Begin(1);
    if (rows == 1) {
      ScoreTile<Cells, 1, false>(a, k, fetcher, lines);
    } else if (kMaxTileRows == 2 || rows == 2) {
      ScoreTile<Cells, 2, false>(a, k, fetcher, lines);
    } else {
      ScoreTile<Cells, kMaxTileRows, false>(a, k, fetcher, lines);
    }
    a.q += kMaxTileRows * a.q_stride;
    a.s += kMaxTileRows * kScoreStride<typename Cells::Number>;
    rows -= kMaxTileRows;
  }
}

// The same for few rows: the first two stream the keys, the others find them in
// the cache.
template <class Cells>
HWY_INLINE void StreamedScoreTiles(ScoresArgs<Cells> a, int64_t rows,
                                   const KeyTile<Cells>& k, Fetcher fetcher,
                                   int64_t lines) {
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  fetcher.Begin(1);
  fetcher.Lines(kAll);
  if (rows == 1) return ScoreTile<Cells, 1, true>(a, k, fetcher, 0);
  ScoreTile<Cells, 2, true>(a, k, fetcher, 0);
  a.q += 2 * a.q_stride;
  a.s += 2 * kScoreStride<typename Cells::Number>;
  ScoreTiles(a, rows - 2, k, fetcher, lines);
}

#if REGARD_KEEPS_QUERIES

// Sums of products of kRows rows, kVectors vectors each, with one key.
template <class Cells, int kRows, int kVectors, class V>
HWY_INLINE void AddKey(const V (&q)[kRows][kVectors],
                       const typename Cells::Key& k, V (&sums)[kRows]) {
  const hn::ScalableTag<float> d;
  HWY_UNROLL(8)
  for (int i = 0; i < kVectors; ++i) {
    const V loaded = k.Load(d, i * kDepthStep<Cells>);
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      sums[r] = Cells::MulAdd(q[r][i], loaded, i == 0 ? hn::Zero(d) : sums[r]);
    }
  }
}

// Scores of the rows against kTileKeys keys, one after the other.
template <class Cells, int kRows, int kVectors, class V>
HWY_INLINE void ScoreTileOfKept(const V (&q)[kRows][kVectors],
                                const KeyTile<Cells>& k, float* s) {
  const hn::ScalableTag<float> d;
  V halves[kRows][kTileKeys / 2];
  HWY_UNROLL(2)
  for (int j = 0; j < kTileKeys; j += 2) {
    V first[kRows], second[kRows];
    AddKey<Cells, kRows, kVectors>(q, k[j], first);
    AddKey<Cells, kRows, kVectors>(q, k[j + 1], second);
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      halves[r][j / 2] = AddHalves(d, first[r], second[r]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    const V all = BlockSums(d, halves[r][0], halves[r][1]);
    hn::StoreU(SumOfBlocks(d, all), BlockOf<decltype(d)>(),
               s + r * kScoreStride<float>);
  }
}

// Scores of kRows rows, which stay in registers, against keys [first, end).
template <class Cells, int kRows, int kVectors>
HWY_INLINE void ScoreKeptRows(const ScoresArgs<Cells>& a, const StoredRows& k,
                              int64_t first, int64_t end, Fetcher& fetcher) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> kept[kRows][kVectors];
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) {
      kept[r][i] = hn::Load(d, a.q + r * a.q_stride + i * HWY_LANES(float));
    }
  }
  for (int64_t j = first; j < end; j += kTileKeys) {
    fetcher.Begin(1);
    fetcher.Lines(kTileKeys * kVectors);
    // The last tile repeats the last key.
    const auto key = [&](int64_t i) HWY_ATTR {
      return Cells::KeyAt(k, HWY_MIN(i, end - 1));
    };
    const KeyTile<Cells> tile = {key(j), key(j + 1), key(j + 2), key(j + 3)};
    ScoreTileOfKept<Cells, kRows, kVectors>(kept, tile, a.s + j);
  }
}

// Scores of keys of kVectors whole vectors, with kRows rows at a time in
// registers.
template <class Cells, int kRows, int kVectors>
void ScoresOfKept(int64_t rows, ScoresArgs<Cells> a, const StoredRows& k,
                  int64_t count) {
  constexpr int64_t kElement = sizeof(typename Cells::Stored);
  constexpr int64_t kChunk = 16;  // keys that each tile of rows meets in turn
  MemoryRows keys(k, count, a.depth, kElement);
  const int64_t tiles = (rows + kRows - 1) / kRows;
  const bool fetches = rows > kStreamedScoreRows<Cells>;
  for (int64_t j = 0; j < count; j += kChunk) {
    keys.FetchPages(j, kChunk);
    Fetcher fetcher;
    if (fetches || keys.IsFetched(j)) {
      fetcher = Fetcher(keys, j, kChunk, tiles * kChunk / kTileKeys);
    }
    ScoresArgs<Cells> tile = a;
    for (int64_t row = 0; row < rows; row += kRows) {
      ScoreKeptRows<Cells, kRows, kVectors>(
          tile, k, j, HWY_MIN(j + kChunk, count), fetcher);
      tile.q += kRows * a.q_stride;
      tile.s += kRows * kScoreStride<float>;
    }
  }
}

// The same where it is faster than tiles whose queries are loaded each time:
// common head sizes, and as many rows as kKeptRows. Returns whether it is.
template <class Cells>
bool TryScoresOfKept(int64_t rows, const ScoresArgs<Cells>& a,
                     const StoredRows& k, int64_t count) {
  if (rows > kKeptRows<Cells>) return false;
  constexpr int64_t kStep = kDepthStep<Cells>;
  if (a.depth == 4 * kStep) {
    if (rows == 1) {
      ScoresOfKept<Cells, 1, 4>(rows, a, k, count);
    } else if (rows == 2) {
      ScoresOfKept<Cells, 2, 4>(rows, a, k, count);
    } else {
      ScoresOfKept<Cells, 4, 4>(rows, a, k, count);
    }
    return true;
  }
  if (a.depth == 8 * kStep) {
    if (rows == 1) {
      ScoresOfKept<Cells, 1, 8>(rows, a, k, count);
    } else {
      ScoresOfKept<Cells, 2, 8>(rows, a, k, count);
    }
    return true;
  }
  return false;
}

#endif  // REGARD_KEEPS_QUERIES

template <class Cells>
void Scores(int64_t rows, const typename Cells::Number* q, int64_t q_stride,
            const StoredRows& k, int64_t depth, int64_t count,
            typename Cells::Number* s) {
#if REGARD_KEEPS_QUERIES
  if constexpr (sizeof(typename Cells::Number) == 4) {
    if (TryScoresOfKept<Cells>(rows, {q, q_stride, depth, s}, k, count)) return;
  }
#endif
  constexpr int64_t kElement = sizeof(typename Cells::Stored);
  constexpr int64_t kLinesPerStep =
      HWY_MAX(1, kTileKeys * kDepthStep<Cells> * kElement / kLineBytes);
  MemoryRows keys(k, count, depth, kElement);
  const int64_t tiles = (rows + kMaxTileRows - 1) / kMaxTileRows;
  const int64_t lines = (kLinesPerStep + tiles - 1) / tiles;
  const bool fetches = rows > kStreamedScoreRows<Cells>;
  for (int64_t j = 0; j < count; j += kTileKeys) {
    keys.FetchPages(j, kTileKeys);
    // The last tile repeats the last key.
    const auto key = [&](int64_t i) HWY_ATTR {
      return Cells::KeyAt(k, HWY_MIN(i, count - 1));
    };
    const KeyTile<Cells> tile = {key(j), key(j + 1), key(j + 2), key(j + 3)};
    const ScoresArgs<Cells> args = {q, q_stride, depth, s + j};
    Fetcher fetcher;
    if (fetches || keys.IsFetched(j)) {
      fetcher = Fetcher(keys, j, kTileKeys, tiles);
    }
    if (rows <= kStreamedScoreRows<Cells>) {
      StreamedScoreTiles(args, rows, tile, fetcher, lines);
    } else {
      ScoreTiles(args, rows, tile, fetcher, lines);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();
#endif  // REGARD_DECODES

#endif  // per-target include guard
