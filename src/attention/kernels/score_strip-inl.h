// Scores of strips: q k^T, with keys that are packed, or are to be.
#if defined(REGARD_ATTENTION_KERNELS_SCORE_STRIP_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_SCORE_STRIP_INL_H_
#undef REGARD_ATTENTION_KERNELS_SCORE_STRIP_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_SCORE_STRIP_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "attention/kernels/flash_ops.h"
#include "attention/kernels/register_tile-inl.h"
#include "attention/kernels/softmax_strip-inl.h"
#include "attention/kernels/transpose-inl.h"
#include "attention/rows_ahead.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;

// A dot product is one chain of additions up to this depth, as in matrix
// libraries, whose error it then has. Longer ones are summed in pieces of about
// kPiece: one chain over 576 has 4 times the error of a blocked sum. Pieces of
// 64 can still lose against a lucky plain evaluation by more than the factor of
// 2 that is promised; a store, load and addition per piece cost little among 32
// multiply-adds.
constexpr int64_t kMaxChain = 128;
constexpr int64_t kPiece = 32;

template <class Cells>
constexpr int64_t PiecesOf(int64_t depth) {
  constexpr int64_t kMax = kMaxChain / Cells::kPair;
  constexpr int64_t kPart = kPiece / Cells::kPair;
  return depth <= kMax ? 1 : (depth + kPart - 1) / kPart;
}

// What FlashOps::scores is asked for.
template <typename T>
struct ScoresArgs {
  const T* q;
  const T* k;
  int64_t depth, count;
  T* s;
  T* largest;              // nullptr: not asked for
  const RowsAhead* ahead;  // two
  LinesAhead* lines;
};

template <int kRows, int kVectors, class D, typename T, class V>
HWY_INLINE void StoreScores(D d, const V (&sums)[kRows][kVectors], T* s) {
  HWY_UNROLL(12)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sums[r][v], d, s + r * kScoreStride<T> + v * HWY_LANES(T));
    }
  }
}

template <class Cells, int kRows, int kVectors, class D, typename T, class V>
HWY_INLINE void ScoreProducts(D d, const T* q, const T* k, int64_t depth,
                              LinesAhead& lines, V (&sums)[kRows][kVectors]) {
  FetchingProducts<Cells, kRows, kVectors, 1, kStripRows>(d, q, k, kPanel<T>,
                                                          depth, lines, sums);
}

// sums += what is left of a product after its first piece, which is in sums.
template <class Cells, int kRows, int kVectors, class D, typename T, class V>
HWY_INLINE void AddPieces(D d, const T* q, const T* k, int64_t depth,
                          int64_t pieces, T* s, LinesAhead& lines,
                          V (&sums)[kRows][kVectors]) {
  constexpr int64_t kLanes = HWY_LANES(T);
  for (int64_t piece = 1; piece < pieces; ++piece) {
    const int64_t begin = depth * piece / pieces;
    const int64_t end = depth * (piece + 1) / pieces;
    StoreScores(d, sums, s);
    ClearSums(d, sums);
    ScoreProducts<Cells>(d, q + begin * kStripRows, k + begin * kPanel<T>,
                         end - begin, lines, sums);
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        const T* at = s + r * kScoreStride<T> + v * kLanes;
        sums[r][v] = hn::Add(hn::Load(d, at), sums[r][v]);
      }
    }
  }
}

// The largest scores of each row and lane: the units that this takes have
// little else to do beside products.
template <int kRows, typename T>
class LargestScores {
 public:
  LargestScores() {
    for (int r = 0; r < kRows; ++r) {
      hn::Store(hn::Set(kTag, MinusInfinity<T>()), kTag, lanes_ + r * kLanes);
    }
  }

  template <int kVectors, class V>
  HWY_INLINE void Add(const V (&sums)[kRows][kVectors]) {
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      auto max = hn::Max(hn::Load(kTag, lanes_ + r * kLanes), sums[r][0]);
      if constexpr (kVectors == 2) max = hn::Max(max, sums[r][1]);
      hn::Store(max, kTag, lanes_ + r * kLanes);
    }
  }

  void Write(T* largest) const {
    for (int r = 0; r < kRows; ++r) {
      const auto lanes = hn::Load(kTag, lanes_ + r * kLanes);
      largest[r] = hn::GetLane(hn::MaxOfLanes(kTag, lanes));
    }
  }

 private:
  static constexpr int64_t kLanes = HWY_LANES(T);
  static constexpr hn::ScalableTag<T> kTag = {};
  HWY_ALIGN T lanes_[kRows * kLanes];
};

// Scores of one panel of keys (kVectors of its vectors).
template <class Cells, int kRows, int kVectors, bool kPieces, typename T>
HWY_INLINE void ScorePanel(const ScoresArgs<T>& a, const T* k, T* s,
                           LinesAhead& lines,
                           LargestScores<kRows, T>& largest) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  const int64_t pieces = kPieces ? PiecesOf<Cells>(a.depth) : 1;
  ClearSums(d, sums);
  ScoreProducts<Cells>(d, a.q, k, kPieces ? a.depth / pieces : a.depth, lines,
                       sums);
  if constexpr (kPieces) {
    AddPieces<Cells>(d, a.q, k, a.depth, pieces, s, lines, sums);
  }
  StoreScores(d, sums, s);
  if (a.largest != nullptr) largest.Add(sums);
}

// What belongs to `count` keys from key `at` on.
template <int kRows>
HWY_INLINE void FetchAhead(const RowsAhead& ahead, int64_t at, int64_t count) {
  if (ahead.key_bits == 0) return;
  constexpr int64_t kLineBytes = 64;
  const int64_t end = (at + count) * ahead.key_bits / 8;
  for (int64_t b = at * ahead.key_bits / 8; b < end; b += kLineBytes) {
    const char* line = ahead.at + b;
    for (int r = 0; r < kRows; ++r) {
      hwy::Prefetch(line);
      line += ahead.row_stride;
    }
  }
}

template <class Cells, typename T>
struct ScoreStrip {
  template <int kRows>
  struct Rows {
    static void Call(const ScoresArgs<T>& a) {
      if (PiecesOf<Cells>(a.depth) == 1) return Panels<false>(a);
      Panels<true>(a);
    }

    template <bool kPieces>
    static HWY_INLINE void Panels(const ScoresArgs<T>& a) {
      LargestScores<kRows, T> largest;
      const T* k = a.k;
      LinesAhead lines = *a.lines;
      int64_t i = 0;
      for (; i + kPanel<T> <= a.count; i += kPanel<T>) {
        ScorePanel<Cells, kRows, kPanelVectors, kPieces>(a, k, a.s + i, lines,
                                                         largest);
        k += a.depth * kPanel<T>;
        FetchAhead<kRows>(a.ahead[0], i, kPanel<T>);
        FetchAhead<kRows>(a.ahead[1], i, kPanel<T>);
      }
      if (i < a.count) {
        ScorePanel<Cells, kRows, 1, kPieces>(a, k, a.s + i, lines, largest);
      }
      *a.lines = lines;
      if (a.largest != nullptr) largest.Write(a.largest);
    }
  };
};

// Keys where they lie, `step` elements apart.
template <typename T>
struct KeysApart {
  const T* first;
  int64_t step;
  const T* At(int64_t key) const { return first + key * step; }
};

// Packs the first panel of the keys.
template <typename T>
HWY_INLINE void PackPanel(const KeysApart<T>& keys, int64_t depth, T* to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  for (int64_t i = 0; i < kPanel<T>; i += kLanes) {
    for (int64_t column = 0; column < depth; column += kInBlock<T>) {
      TransposeColumns(d, keys.At(i) + column, keys.step,
                       to + column * kPanel<T> + i, kPanel<T>);
    }
  }
}

// Products with a panel between whose steps the next one is packed, which the
// units that do the products don't notice: in each step some columns of a
// vector of keys.
template <class D, typename T, class V>
HWY_INLINE void PackingProducts(D d, const T* q, const T* panel, int64_t depth,
                                const KeysApart<T>& keys, T* next,
                                LinesAhead& lines,
                                V (&sums)[kStripRows][kPanelVectors]) {
  constexpr int64_t kColumns = kInBlock<T>;
  constexpr int64_t kSteps = kColumns / kPanelVectors;
  static_assert(LinesAhead::kSteps % kSteps == 0);
  int64_t i = 0, column = 0;
  for (int64_t left = depth; left > 0;) {
    const int64_t steps = lines.Begin(left);
    for (int64_t step = 0; step < steps; step += kSteps) {
      Products<PlainCells, kStripRows, kPanelVectors, 1, kStripRows>(
          d, q, panel, kPanel<T>, kSteps, sums);
      q += kSteps * kStripRows;
      panel += kSteps * kPanel<T>;
      TransposeColumns(d, keys.At(i) + column, keys.step,
                       next + column * kPanel<T> + i, kPanel<T>);
      column += kColumns;
      if (column < depth) continue;
      column = 0;
      i += HWY_LANES(T);
    }
    left -= steps;
  }
}

// Scores of a whole strip and whole panels of keys, which are packed to k.
template <typename T>
void PackScoreStrip(const ScoresArgs<T>& a, KeysApart<T> keys, T* k) {
  const hn::ScalableTag<T> d;
  LargestScores<kStripRows, T> largest;
  LinesAhead lines = *a.lines;
  PackPanel(keys, a.depth, k);
  for (int64_t i = 0; i < a.count; i += kPanel<T>) {
    T* const next = k + a.depth * kPanel<T>;
    if (i + kPanel<T> < a.count) {
      keys.first = keys.At(kPanel<T>);
      hn::Vec<decltype(d)> sums[kStripRows][kPanelVectors];
      ClearSums(d, sums);
      PackingProducts(d, a.q, k, a.depth, keys, next, lines, sums);
      StoreScores(d, sums, a.s + i);
      if (a.largest != nullptr) largest.Add(sums);
    } else {
      ScorePanel<PlainCells, kStripRows, kPanelVectors, false>(a, k, a.s + i,
                                                               lines, largest);
    }
    FetchAhead<kStripRows>(a.ahead[0], i, kPanel<T>);
    FetchAhead<kStripRows>(a.ahead[1], i, kPanel<T>);
    k = next;
  }
  *a.lines = lines;
  if (a.largest != nullptr) largest.Write(a.largest);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
