#include "attention/cache/stored_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace regard::inline v0 {

namespace {

// Columns converted at a time.
constexpr int64_t kPiece = 64;

constexpr double kLargestInt8 = 127;

// Calls visit(begin, piece, count) for the columns of a row, in order.
template <typename T, typename Visit>
void ForPieces(const Rows& from, int64_t row, int64_t columns,
               const Visit& visit) {
  for (int64_t begin = 0; begin < columns; begin += kPiece) {
    const int64_t count = std::min(kPiece, columns - begin);
    T piece[kPiece];
    LoadColumns(from, row, begin, count, piece);
    visit(begin, piece, count);
  }
}

template <typename T>
void ConvertRow(const Rows& from, int64_t row, DType dtype, std::byte* to,
                int64_t stride, int64_t columns) {
  const int64_t step = stride * static_cast<int64_t>(ItemSize(dtype));
  ForPieces<T>(from, row, columns,
               [&](int64_t begin, const T* piece, int64_t count) {
                 StoreColumns(dtype, to + begin * step, stride, count, piece);
               });
}

// Elements at `to`; returns their scale.
template <typename T>
float QuantizeRow(const Rows& from, int64_t row, int8_t* to, int64_t columns) {
  T largest = 0;
  bool finite = true;
  ForPieces<T>(from, row, columns, [&](int64_t, const T* piece, int64_t count) {
    for (int64_t c = 0; c < count; ++c) {
      finite &= std::isfinite(piece[c]);
      largest = std::max(largest, std::fabs(piece[c]));
    }
  });
  if (!finite) {
    std::fill_n(to, columns, int8_t{1});
    return std::numeric_limits<float>::quiet_NaN();
  }
  // A number that f32 does not hold is its largest one.
  const double most = std::numeric_limits<float>::max();
  const float scale = static_cast<float>(
      std::min(static_cast<double>(largest) / kLargestInt8, most));
  ForPieces<T>(
      from, row, columns, [&](int64_t begin, const T* piece, int64_t count) {
        for (int64_t c = 0; c < count; ++c) {
          const double steps = scale == 0 ? 0
                                          : static_cast<double>(piece[c]) /
                                                static_cast<double>(scale);
          to[begin + c] = static_cast<int8_t>(
              std::clamp(std::nearbyint(steps), -kLargestInt8, kLargestInt8));
        }
      });
  return scale;
}

}  // namespace

StoredRows::StoredRows(DType dtype, const Dims& shape, bool heads_outside) {
  const auto make = [&](DType type, Dims wanted, Tensor& tensor) {
    if (heads_outside) std::swap(wanted[0], wanted[1]);
    tensor = Tensor(type, wanted);
    MutableTensorView view = tensor.mutable_view();
    if (heads_outside) {
      std::swap(view.shape[0], view.shape[1]);
      std::swap(view.strides[0], view.strides[1]);
    }
    return view;
  };
  rows = make(dtype, shape, memory);
  if (dtype == DType::kI8) {
    scales = make(DType::kF32, {shape[0], shape[1], shape[2]}, scale_memory);
  }
}

void StoredRows::CopyPage(int64_t from, int64_t to, int64_t count) {
  for (const MutableTensorView& view : {rows, scales}) {
    if (!view.given()) continue;
    const int64_t item = static_cast<int64_t>(ItemSize(view.dtype));
    std::byte* data = static_cast<std::byte*>(view.mutable_data());
    for (int64_t head = 0; head < view.shape[1]; ++head) {
      const auto place = [&](int64_t page) {
        return data + (page * view.strides[0] + head * view.strides[1]) * item;
      };
      std::memcpy(place(to), place(from),
                  static_cast<size_t>(count * view.strides[2] * item));
    }
  }
}

void CopyRow(const Rows& from, int64_t row, DType dtype, std::byte* to,
             int64_t stride, int64_t columns) {
  if (from.dtype == dtype && from.column_stride == 1 && stride == 1) {
    std::memcpy(to, from.At(row),
                static_cast<size_t>(columns * from.item_size));
  } else if (from.dtype == DType::kF64) {
    ConvertRow<double>(from, row, dtype, to, stride, columns);
  } else {
    ConvertRow<float>(from, row, dtype, to, stride, columns);
  }
}

void StoreRow(const Rows& from, int64_t row, const Rows& to, int64_t key,
              int64_t columns) {
  std::byte* at = const_cast<std::byte*>(to.At(key));
  if (to.dtype != DType::kI8) {
    return CopyRow(from, row, to.dtype, at, 1, columns);
  }
  float* scale = const_cast<float*>(to.ScaleAt(key));
  int8_t* elements = reinterpret_cast<int8_t*>(at);
  if (from.dtype == DType::kI8) {  // of the same cache
    CopyRow(from, row, DType::kI8, at, 1, columns);
    *scale = *from.ScaleAt(row);
  } else if (from.dtype == DType::kF64) {
    *scale = QuantizeRow<double>(from, row, elements, columns);
  } else {
    *scale = QuantizeRow<float>(from, row, elements, columns);
  }
}

}  // namespace regard::inline v0
