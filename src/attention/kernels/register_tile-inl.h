// The register tile: the one inner loop of both products, q k^T and P v.
#if defined(REGARD_ATTENTION_KERNELS_REGISTER_TILE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_REGISTER_TILE_INL_H_
#undef REGARD_ATTENTION_KERNELS_REGISTER_TILE_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_REGISTER_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "attention/rows_ahead.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// AVX-512 and NEON have 32 vector registers, the others 16.
#undef REGARD_32_REGISTERS
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
#define REGARD_32_REGISTERS 1
#else
#define REGARD_32_REGISTERS 0
#endif

// Rows of a strip. A tile of rows x 2 vectors needs 2 * rows registers for its
// sums, 2 for the loaded vectors and 1 for the broadcast: 27 of 32, 15 of 16.
// Without FMA a product takes one more.
#if REGARD_32_REGISTERS
constexpr int kStripRows = 12;
#elif HWY_TARGET <= HWY_AVX2
constexpr int kStripRows = 6;
#else
constexpr int kStripRows = 4;
#endif

// Vectors of a panel: with 2, each broadcast serves two multiply-adds, and the
// 2 * kStripRows chains cover the latency of the unit.
constexpr int kPanelVectors = 2;

template <typename T>
constexpr int64_t kPanel = kPanelVectors* HWY_LANES(T);

template <int kRows, int kVectors, class D, class V = hn::Vec<D>>
HWY_INLINE void ClearSums(D d, V (&sums)[kRows][kVectors]) {
  HWY_UNROLL(12)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
}

// The arithmetic of one T, or of what a T holds: cells of one element.
struct PlainCells {
  static constexpr int64_t kPair = 1;

  template <class V>
  static HWY_INLINE V MulAdd(V a, V b, V sum) {
    return hn::MulAdd(a, b, sum);
  }
  // Weights i and on of a row of scores, in their place: a vector, or two.
  template <class D, class V>
  static HWY_INLINE void Store(V p, D d, hn::TFromD<D>* row, int64_t i) {
    hn::Store(p, d, row + i);
  }
  template <class D, class V>
  static HWY_INLINE void Store(V p0, V p1, D d, hn::TFromD<D>* row, int64_t i) {
    hn::Store(p0, d, row + i);
    hn::Store(p1, d, row + i + HWY_LANES(hn::TFromD<D>));
  }
};

// sums[r][v] += sum over i in [0, depth) of
//   left[r * kRowStep + i * kDepthStep] * (vector v of right + i * right_step)
// one after the other, in order of i.
template <class Cells, int kRows, int kVectors, int64_t kRowStep,
          int64_t kDepthStep, class D, typename T = hn::TFromD<D>,
          class V = hn::Vec<D>>
HWY_INLINE void Products(D d, const T* HWY_RESTRICT left,
                         const T* HWY_RESTRICT right, int64_t right_step,
                         int64_t depth, V (&sums)[kRows][kVectors]) {
  constexpr int64_t kLanes = HWY_LANES(T);
  for (int64_t i = 0; i < depth; ++i) {
    V loaded[kVectors];
    HWY_UNROLL(2)
    for (int v = 0; v < kVectors; ++v) {
      loaded[v] = hn::LoadU(d, right + v * kLanes);
    }
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      const V broadcast = hn::Set(d, left[r * kRowStep]);
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = Cells::MulAdd(broadcast, loaded[v], sums[r][v]);
      }
    }
    left += kDepthStep;
    right += right_step;
  }
}

// The same, and fetches some `lines` meanwhile.
template <class Cells, int kRows, int kVectors, int64_t kRowStep,
          int64_t kDepthStep, class D, typename T = hn::TFromD<D>,
          class V = hn::Vec<D>>
HWY_INLINE void FetchingProducts(D d, const T* left, const T* right,
                                 int64_t right_step, int64_t depth,
                                 LinesAhead& lines,
                                 V (&sums)[kRows][kVectors]) {
  while (depth > 0) {
    const int64_t steps = lines.Begin(depth);
    Products<Cells, kRows, kVectors, kRowStep, kDepthStep>(
        d, left, right, right_step, steps, sums);
    left += steps * kDepthStep;
    right += steps * right_step;
    depth -= steps;
  }
}

// Calls Function<kRows>::Call(args) with the smallest kRows >= rows that is
// built; the rows beyond are computed and never looked at.
template <template <int> class Function, class Args>
HWY_INLINE void WithRows(int64_t rows, const Args& args) {
  if (rows <= 1) return Function<1>::Call(args);
  if (rows <= 2) return Function<2>::Call(args);
  if (rows <= 4 || kStripRows == 4) return Function<4>::Call(args);
#if REGARD_32_REGISTERS || HWY_TARGET <= HWY_AVX2
  if (rows <= 6 || kStripRows == 6) return Function<6>::Call(args);
#endif
#if REGARD_32_REGISTERS
  if (rows <= 8) return Function<8>::Call(args);
  return Function<12>::Call(args);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
