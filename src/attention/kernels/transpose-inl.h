// Rows become columns, four vectors of floats (two of doubles) at a time.
#if defined(REGARD_ATTENTION_KERNELS_TRANSPOSE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_TRANSPOSE_INL_H_
#undef REGARD_ATTENTION_KERNELS_TRANSPOSE_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_TRANSPOSE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && !HWY_HAVE_SCALABLE

namespace hn = hwy::HWY_NAMESPACE;

// Elements of a block of 128 bits; vectors are shuffled in such blocks.
template <typename T>
constexpr int kInBlock = static_cast<int>(16 / sizeof(T));

// Four rows (two of doubles): block b of vector e becomes column e of what was
// block b of the rows.
template <class V>
HWY_INLINE void TransposeInBlocks(hn::ScalableTag<float> d, V* rows) {
  const hn::RepartitionToWide<decltype(hn::RebindToUnsigned<decltype(d)>())>
      d64;
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 =
      hn::BitCast(d64, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high23 =
      hn::BitCast(d64, hn::InterleaveUpper(d, rows[2], rows[3]));
  rows[0] = hn::BitCast(d, hn::InterleaveLower(d64, low01, low23));
  rows[1] = hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23));
  rows[2] = hn::BitCast(d, hn::InterleaveLower(d64, high01, high23));
  rows[3] = hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23));
}

template <class V>
HWY_INLINE void TransposeInBlocks(hn::ScalableTag<double> d, V* rows) {
  const auto low = hn::InterleaveLower(d, rows[0], rows[1]);
  rows[1] = hn::InterleaveUpper(d, rows[0], rows[1]);
  rows[0] = low;
}

// A block from each of the rows 0, kInBlock, 2 kInBlock and so on.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const T* HWY_RESTRICT rows,
                                 int64_t step) {
  [[maybe_unused]] constexpr int64_t kApart = kInBlock<T>;
#if HWY_MAX_BYTES == 64
  const hn::Half<D> half;
  const hn::Half<decltype(half)> block;
  const auto low = hn::Combine(half, hn::LoadU(block, rows + kApart * step),
                               hn::LoadU(block, rows));
  const auto high =
      hn::Combine(half, hn::LoadU(block, rows + 3 * kApart * step),
                  hn::LoadU(block, rows + 2 * kApart * step));
  return hn::Combine(d, high, low);
#elif HWY_MAX_BYTES == 32
  const hn::Half<D> block;
  return hn::Combine(d, hn::LoadU(block, rows + kApart * step),
                     hn::LoadU(block, rows));
#else
  (void)step;
  return hn::LoadU(d, rows);
#endif
}

// The first kInBlock columns of as many rows as a vector has lanes: column c
// goes to to + c * to_step. Needs few registers, and a shuffle more for each
// vector than whole vectors of rows would.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void TransposeColumns(D d, const T* HWY_RESTRICT rows, int64_t step,
                                 T* HWY_RESTRICT to, int64_t to_step) {
  constexpr int kColumns = kInBlock<T>;
  hn::Vec<D> columns[kColumns];
  HWY_UNROLL(4)
  for (int c = 0; c < kColumns; ++c) {
    columns[c] = LoadBlocks(d, rows + c * step, step);
  }
  TransposeInBlocks(d, columns);
  HWY_UNROLL(4)
  for (int c = 0; c < kColumns; ++c) {
    hn::Store(columns[c], d, to + c * to_step);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
