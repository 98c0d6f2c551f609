// Arrays in hostile memory.
#ifndef REGARD_TESTS_SUPPORT_GUARDED_ARRAY_H_
#define REGARD_TESTS_SUPPORT_GUARDED_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regard/tensor.h"

namespace regard::inline v0 {

// How an array lies in memory.
enum class Layout {
  kContiguous,
  kHeadsInside,  // [B, L, H, D] seen as [B, H, L, D]
  kEverySecond,  // innermost stride 2
  kReversed,     // negative stride along L
  kPaddedRows,   // gaps behind each row
};
inline constexpr int kLayouts = 5;

// Memory for one array of rank 4 (or less), NaN (or 0xA5) wherever the array is
// not: before, behind and in its gaps.
class GuardedArray {
 public:
  GuardedArray() = default;
  GuardedArray(DType dtype, const Dims& shape, Layout layout);

  const MutableTensorView& view() const { return view_; }
  // Sets element i (row-major) to `value`.
  void Set(int64_t i, double value);
  double Get(int64_t i) const;
  // Whether everything outside the array still is as it was made.
  bool GuardsIntact() const;

 private:
  size_t ByteOf(int64_t i) const;
  std::vector<unsigned char> memory_, untouched_;
  MutableTensorView view_;
};

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_GUARDED_ARRAY_H_
