#include "attention/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace regard::inline v0 {

namespace {

// Bytes [begin, end) that hold all elements. Addresses as numbers: the views
// may belong to different arrays.
struct Extent {
  int64_t begin = 0, end = 0;
};

int64_t ByteStride(const TensorView& view, int axis) {
  return view.strides[axis] * static_cast<int64_t>(ItemSize(view.dtype));
}

Extent ExtentOf(const TensorView& view) {
  const int64_t base =
      static_cast<int64_t>(reinterpret_cast<intptr_t>(view.data));
  Extent extent = {base, base + static_cast<int64_t>(ItemSize(view.dtype))};
  for (int i = 0; i < view.rank(); ++i) {
    const int64_t reach = (view.shape[i] - 1) * ByteStride(view, i);
    (reach < 0 ? extent.begin : extent.end) += reach;
  }
  return extent;
}

// The part of every `period` bytes that the view's elements lie in, when its
// longer strides are all multiples of the period. False when it has no such
// part.
bool PartOfPeriod(const TensorView& view, int64_t period, Extent& part) {
  Extent inner = {0, static_cast<int64_t>(ItemSize(view.dtype))};
  for (int i = 0; i < view.rank(); ++i) {
    const int64_t stride = ByteStride(view, i);
    if (view.shape[i] == 1 || stride % period == 0) continue;
    const int64_t reach = (view.shape[i] - 1) * stride;
    (reach < 0 ? inner.begin : inner.end) += reach;
  }
  const int64_t length = inner.end - inner.begin;
  const int64_t first =
      static_cast<int64_t>(reinterpret_cast<intptr_t>(view.data)) + inner.begin;
  part.begin = (first % period + period) % period;
  part.end = part.begin + length;
  return part.end <= period;
}

bool Disjoint(const Extent& a, const Extent& b) {
  return a.end <= b.begin || b.end <= a.begin;
}

}  // namespace

bool MayOverlap(const TensorView& a, const TensorView& b) {
  if (a.NumElements() == 0 || b.NumElements() == 0) return false;
  if (Disjoint(ExtentOf(a), ExtentOf(b))) return false;
  for (const TensorView* view : {&a, &b}) {
    for (int i = 0; i < view->rank(); ++i) {
      const int64_t period = std::abs(ByteStride(*view, i));
      Extent part_a, part_b;
      if (period != 0 && PartOfPeriod(a, period, part_a) &&
          PartOfPeriod(b, period, part_b) && Disjoint(part_a, part_b)) {
        return false;
      }
    }
  }
  return true;
}

bool MayOverlapItself(const TensorView& view) {
  if (view.NumElements() == 0) return false;
  // Sorted by stride, every step has to leave what the shorter ones span.
  std::array<std::pair<int64_t, int64_t>, kMaxRank> steps =
      {};  // stride, reach
  for (int i = 0; i < view.rank(); ++i) {
    if (view.shape[i] == 1) continue;
    const int64_t stride = std::abs(view.strides[i]);
    if (stride == 0) return true;
    steps[static_cast<size_t>(i)] = {stride, (view.shape[i] - 1) * stride};
  }
  std::sort(steps.begin(), steps.end());
  int64_t span = 1;  // elements
  for (const auto& [stride, reach] : steps) {
    if (stride == 0) continue;
    if (stride < span) return true;
    span += reach;
  }
  return false;
}

}  // namespace regard::inline v0
