#include "attention/rows.h"

#include "tensor/convert.h"

namespace regard::inline v0 {

namespace {

uint16_t BF16From(float x) { return BF16FromF32(x); }
uint16_t BF16From(double x) { return BF16FromF64(x); }
uint16_t F16From(float x) { return F16FromF32(x); }
uint16_t F16From(double x) { return F16FromF64(x); }

// Elements that lie side by side get a loop of their own: vector code.
template <typename T, typename Stored, typename Convert>
void LoadAs(const std::byte* row, int64_t stride, int64_t count, T* to,
            Convert convert) {
  const Stored* from = reinterpret_cast<const Stored*>(row);
  const auto load = [&](int64_t step) {
    for (int64_t c = 0; c < count; ++c) {
      to[c] = static_cast<T>(convert(from[c * step]));
    }
  };
  stride == 1 ? load(1) : load(stride);
}

template <typename T, typename Stored, typename Convert>
void StoreAs(std::byte* row, int64_t stride, int64_t count, const T* values,
             Convert convert) {
  Stored* to = reinterpret_cast<Stored*>(row);
  const auto store = [&](int64_t step) {
    for (int64_t c = 0; c < count; ++c) to[c * step] = convert(values[c]);
  };
  stride == 1 ? store(1) : store(stride);
}

}  // namespace

Rows RowsOf(const TensorView& view, int64_t batch, int64_t head, int64_t first,
            const TensorView& scales) {
  const int64_t item = static_cast<int64_t>(ItemSize(view.dtype));
  Rows rows;
  rows.data = static_cast<const std::byte*>(view.data) +
              item * (batch * view.strides[0] + head * view.strides[1] +
                      first * view.strides[2]);
  rows.dtype = view.dtype;
  rows.item_size = item;
  rows.row_stride = view.strides[2];
  rows.column_stride = view.strides[3];
  if (!scales.given()) return rows;
  rows.scales = scales.As<float>() + batch * scales.strides[0] +
                head * scales.strides[1] + first * scales.strides[2];
  rows.scale_stride = scales.strides[2];
  rows.scale_page_stride = scales.strides[0];
  return rows;
}

template <typename T>
void LoadColumns(const Rows& rows, int64_t row, int64_t begin, int64_t count,
                 T* to) {
  const int64_t stride = rows.column_stride;
  const std::byte* from = rows.At(row) + begin * stride * rows.item_size;
  const auto same = [](auto x) { return x; };
  switch (rows.dtype) {
    case DType::kF64:
      return LoadAs<T, double>(from, stride, count, to, same);
    case DType::kBF16:
      return LoadAs<T, uint16_t>(from, stride, count, to,
                                 [](uint16_t x) { return F32FromBF16(x); });
    case DType::kF16:
      return LoadAs<T, uint16_t>(from, stride, count, to, F32FromF16);
    case DType::kI8: {
      const float scale = *rows.ScaleAt(row);
      return LoadAs<T, int8_t>(from, stride, count, to, [scale](int8_t x) {
        return scale * static_cast<float>(x);
      });
    }
    default:
      return LoadAs<T, float>(from, stride, count, to, same);
  }
}

template <typename T>
void StoreColumns(DType dtype, std::byte* to, int64_t stride, int64_t count,
                  const T* values) {
  switch (dtype) {
    case DType::kF64:
      return StoreAs<T, double>(to, stride, count, values,
                                [](T x) { return static_cast<double>(x); });
    case DType::kBF16:
      return StoreAs<T, uint16_t>(to, stride, count, values,
                                  [](T x) { return BF16From(x); });
    case DType::kF16:
      return StoreAs<T, uint16_t>(to, stride, count, values,
                                  [](T x) { return F16From(x); });
    default:
      return StoreAs<T, float>(to, stride, count, values,
                               [](T x) { return static_cast<float>(x); });
  }
}

template void LoadColumns(const Rows&, int64_t, int64_t, int64_t, float*);
template void LoadColumns(const Rows&, int64_t, int64_t, int64_t, double*);
template void StoreColumns(DType, std::byte*, int64_t, int64_t, const float*);
template void StoreColumns(DType, std::byte*, int64_t, int64_t, const double*);

}  // namespace regard::inline v0
