// The output of a few rows: weights . v, values where they lie.
#if defined(REGARD_ATTENTION_KERNELS_DECODE_OUTPUT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_DECODE_OUTPUT_INL_H_
#undef REGARD_ATTENTION_KERNELS_DECODE_OUTPUT_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_DECODE_OUTPUT_INL_H_
#endif

#include <hwy/highway.h>

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

// Keys, or pairs of them, whose values are accumulated one column panel after
// the other: they and those that are fetched stay in the first-level cache.
constexpr int64_t kChunk = 16;

template <class Cells>
struct AccumulateArgs {
  const typename Cells::Number* p;  // [kRows][kScoreStride]
  StoredRows v;
  int64_t count;  // of cells
  typename Cells::Number* out;
  int64_t out_stride;
};

// kRows rows x kVectors vectors of columns; of the last one `last` columns when
// kTail. Fetches for one of `tiles` tiles of rows.
template <class Cells, int kRows, int kVectors, bool kTail>
HWY_INLINE void AccumulatePanel(const AccumulateArgs<Cells>& a, int64_t column,
                                int64_t last, int64_t tiles, Fetcher& fetcher) {
  using T = typename Cells::Number;
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int64_t kPanelBytes =
      kVectors * kLanes * Cells::kPair *
      static_cast<int64_t>(sizeof(typename Cells::Stored));
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
  for (int64_t i = 0; i < a.count; ++i) {
    fetcher.Lines(lines);
    const typename Cells::Value v = Cells::ValueAt(a.v, i);
    V loaded[kVectors];
    if constexpr (kTail) {
      static_assert(kVectors == 1);
      loaded[0] = v.Tail(d, column, last);
    } else {
      Cells::LoadValues(d, v, column, loaded);
    }
    HWY_UNROLL(4)
    for (int r = 0; r < kRows; ++r) {
      const V p = hn::Set(d, a.p[r * kScoreStride<T> + i]);
      HWY_UNROLL(8)
      for (int j = 0; j < kVectors; ++j) {
        sums[r][j] = Cells::MulAdd(p, loaded[j], sums[r][j]);
      }
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      hn::Store(sums[r][j], d, a.out + r * a.out_stride + column + j * kLanes);
    }
  }
}

// As many panels of kVectors as there are, from `column` on; then narrower
// ones.
template <class Cells, int kRows, int kVectors>
HWY_INLINE void AccumulatePanels(const AccumulateArgs<Cells>& a, int64_t column,
                                 int64_t columns, int64_t tiles,
                                 Fetcher& fetcher) {
  constexpr int64_t kWidth = kVectors * HWY_LANES(typename Cells::Number);
  for (; column + kWidth <= columns; column += kWidth) {
    AccumulatePanel<Cells, kRows, kVectors, false>(a, column, 0, tiles,
                                                   fetcher);
  }
  if constexpr (kVectors > 1) {
    AccumulatePanels<Cells, kRows, kVectors / 2>(a, column, columns, tiles,
                                                 fetcher);
  } else if (kReadsTails && column < columns) {
    AccumulatePanel<Cells, kRows, 1, true>(a, column, columns - column, tiles,
                                           fetcher);
  }
}

template <class Cells, int kRows>
HWY_INLINE void AccumulateTile(const AccumulateArgs<Cells>& a, int64_t columns,
                               int64_t tiles, Fetcher& fetcher) {
  constexpr int kWide = HWY_MIN(8, kTileSums / kRows);
  AccumulatePanels<Cells, kRows, kWide>(a, 0, columns, tiles, fetcher);
}

// All rows, kTileRows at a time.
template <class Cells, int kTileRows>
HWY_INLINE void AccumulateChunk(AccumulateArgs<Cells> a, int64_t rows,
                                int64_t columns, Fetcher fetcher) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (; rows > 0; rows -= kTileRows) {
    if (rows == 1) {
      AccumulateTile<Cells, 1>(a, columns, tiles, fetcher);
    } else if (kTileRows == 2 || rows == 2) {
      AccumulateTile<Cells, 2>(a, columns, tiles, fetcher);
    } else {
      AccumulateTile<Cells, kTileRows>(a, columns, tiles, fetcher);
    }
    a.p += kTileRows * kScoreStride<typename Cells::Number>;
    a.out += kTileRows * a.out_stride;
  }
}

// Rows from `first` on.
template <class Cells>
HWY_INLINE StoredRows RowsFrom(const StoredRows& rows, int64_t first) {
  using S = typename Cells::Stored;
  return {static_cast<const S*>(rows.first) + first * rows.stride, rows.stride,
          rows.scales + first * rows.scale_stride, rows.scale_stride};
}

template <class Cells>
void Accumulate(int64_t rows, const typename Cells::Number* p,
                const StoredRows& v, int64_t count, int64_t columns,
                typename Cells::Number* out, int64_t out_stride) {
  constexpr int64_t kElement = sizeof(typename Cells::Stored);
  constexpr int64_t kLanes = HWY_LANES(typename Cells::Number);
  MemoryRows values(v, count, columns, kElement);
  const bool streamed = rows <= kStreamedValueRows;
  const bool fetches = rows > kUnfetchedValueRows<Cells>;
  const int64_t tile_rows = streamed ? 2 : kMaxTileRows;
  const int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  const int64_t vectors = (columns + kLanes - 1) / kLanes;
  const int64_t cells = count / Cells::kPair;
  for (int64_t i = 0; i < cells; i += kChunk) {
    const int64_t first = i * Cells::kPair;
    constexpr int64_t kKeys = kChunk * Cells::kPair;
    values.FetchPages(first, kKeys);
    const AccumulateArgs<Cells> args = {p + i, RowsFrom<Cells>(v, first),
                                        HWY_MIN(kChunk, cells - i), out,
                                        out_stride};
    Fetcher fetcher;
    if (fetches || values.IsFetched(first)) {
      fetcher = Fetcher(values, first, kKeys, tiles * vectors);
    }
    if (streamed) {
      AccumulateChunk<Cells, 2>(args, rows, columns, fetcher);
    } else {
      AccumulateChunk<Cells, kMaxTileRows>(args, rows, columns, fetcher);
    }
  }
}

// In the same order of additions as above.
template <class Cells>
void AccumulateVisible(const typename Cells::Number* p, const StoredRows& v,
                       int64_t count, int64_t columns, const uint8_t* hidden,
                       typename Cells::Number* out) {
  static_assert(Cells::kPair == 1);
  Fetcher none;
  for (int64_t i = 0; i < count; ++i) {
    if (hidden[i]) continue;
    const AccumulateArgs<Cells> args = {p + i, RowsFrom<Cells>(v, i), 1, out,
                                        0};
    AccumulateTile<Cells, 1>(args, columns, 1, none);
  }
}

#if REGARD_BF16_DOT

// The same sums, with 0 for what is hidden, whose weight is 0 too: the same
// bits.
inline void AccumulateVisiblePairs(const float* p, const StoredRows& v,
                                   int64_t count, int64_t columns,
                                   const uint8_t* hidden, float* out) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  for (int64_t i = 0; i < count; i += 2) {
    const uint32_t seen =
        (hidden[i] ? 0 : 0x0000FFFFu) | (hidden[i + 1] ? 0 : 0xFFFF0000u);
    const PairedValues values = PairCells::ValueAt(v, i / 2);
    const FloatVec weights = hn::Set(d, p[i / 2]);
    for (int64_t c = 0; c < columns; c += kPairLanes) {
      const FloatVec pairs =
          values.Tail(d, c, HWY_MIN(kPairLanes, columns - c));
      const FloatVec shown = hn::And(pairs, hn::BitCast(d, hn::Set(du, seen)));
      const FloatVec sum = hn::Load(d, out + c);
      hn::Store(DotPairs(weights, shown, sum), d, out + c);
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();
#endif  // REGARD_DECODES

#endif  // per-target include guard
