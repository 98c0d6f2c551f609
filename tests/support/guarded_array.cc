#include "tests/support/guarded_array.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/convert.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t kGuard = 37;  // elements; odd, so that nothing is aligned

// Strides of `shape` in the layout, for a buffer of non-negative offsets;
// `span` is its length.
Dims StridesFor(const Dims& shape, Layout layout, int64_t& span) {
  Dims order;  // axes, innermost first
  for (int i = shape.size() - 1; i >= 0; --i) order.push_back(i);
  if (layout == Layout::kHeadsInside && shape.size() == 4) {
    std::swap(order[1], order[2]);
  }
  Dims strides = shape;
  int64_t stride = layout == Layout::kEverySecond ? 2 : 1;
  for (int i = 0; i < order.size(); ++i) {
    const int axis = static_cast<int>(order[i]);
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
    if (i == 0 && layout == Layout::kPaddedRows) stride += 3;
  }
  span = stride;
  return strides;
}

}  // namespace

GuardedArray::GuardedArray(DType dtype, const Dims& shape, Layout layout) {
  int64_t span = 0;
  Dims strides = StridesFor(shape, layout, span);
  const size_t item = ItemSize(dtype);
  memory_.assign(static_cast<size_t>(span + 2 * kGuard) * item, 0xA5);
  int64_t first = kGuard;
  if (layout == Layout::kReversed && shape.size() >= 2 &&
      NumElements(shape) > 0) {
    const int axis = shape.size() - 2;
    first += (shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  view_ = MutableTensorView(memory_.data() + static_cast<size_t>(first) * item,
                            dtype, shape, strides);
  for (size_t at = 0; at < memory_.size(); at += item) {
    if (dtype == DType::kF32) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(memory_.data() + at, &nan, item);
    } else if (dtype == DType::kF64) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      std::memcpy(memory_.data() + at, &nan, item);
    } else if (dtype == DType::kBF16 || dtype == DType::kF16) {
      const uint16_t nan = 0x7FFF;
      std::memcpy(memory_.data() + at, &nan, item);
    }
  }
  untouched_ = memory_;
}

size_t GuardedArray::ByteOf(int64_t i) const {
  int64_t at = 0;
  for (int axis = view_.rank() - 1; axis >= 0; --axis) {
    at += i % view_.shape[axis] * view_.strides[axis];
    i /= view_.shape[axis];
  }
  const auto* base = static_cast<const unsigned char*>(view_.data);
  return static_cast<size_t>(base - memory_.data() +
                             at * static_cast<int64_t>(ItemSize(view_.dtype)));
}

void GuardedArray::Set(int64_t i, double value) {
  unsigned char* at = memory_.data() + ByteOf(i);
  if (view_.dtype == DType::kF32) {
    const float narrow = static_cast<float>(value);
    std::memcpy(at, &narrow, sizeof(narrow));
  } else if (view_.dtype == DType::kF64) {
    std::memcpy(at, &value, sizeof(value));
  } else if (view_.dtype == DType::kBF16 || view_.dtype == DType::kF16) {
    const float wide = static_cast<float>(value);
    const uint16_t half =
        view_.dtype == DType::kBF16 ? BF16FromF32(wide) : F16FromF32(wide);
    std::memcpy(at, &half, sizeof(half));
  } else {
    *at = static_cast<unsigned char>(value);
  }
}

double GuardedArray::Get(int64_t i) const {
  const unsigned char* at = memory_.data() + ByteOf(i);
  if (view_.dtype == DType::kF32) {
    float narrow;
    std::memcpy(&narrow, at, sizeof(narrow));
    return static_cast<double>(narrow);
  }
  if (view_.dtype == DType::kF64) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (view_.dtype == DType::kBF16 || view_.dtype == DType::kF16) {
    uint16_t half;
    std::memcpy(&half, at, sizeof(half));
    return static_cast<double>(view_.dtype == DType::kBF16 ? F32FromBF16(half)
                                                           : F32FromF16(half));
  }
  return *at;
}

bool GuardedArray::GuardsIntact() const {
  if (memory_.empty()) return true;  // not used
  std::vector<unsigned char> outside = memory_;
  const size_t item = ItemSize(view_.dtype);
  for (int64_t i = 0; i < view_.NumElements(); ++i) {
    const size_t at = ByteOf(i);
    std::memcpy(outside.data() + at, untouched_.data() + at, item);
  }
  return outside == untouched_;
}

}  // namespace regard::inline v0
