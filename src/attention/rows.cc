#include "attention/rows.h"

#include "tensor/convert.h"

namespace regard::inline v0 {

namespace {

template <typename T, typename Stored, typename Convert>
void LoadAs(const std::byte* row, int64_t stride, int64_t count, T* to,
            Convert convert) {
  const Stored* from = reinterpret_cast<const Stored*>(row);
  for (int64_t c = 0; c < count; ++c) {
    to[c] = static_cast<T>(convert(from[c * stride]));
  }
}

}  // namespace

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
      return LoadAs<T, uint16_t>(from, stride, count, to, F32FromBF16);
    case DType::kF16:
      return LoadAs<T, uint16_t>(from, stride, count, to, F32FromF16);
    default:
      return LoadAs<T, float>(from, stride, count, to, same);
  }
}

template void LoadColumns(const Rows&, int64_t, int64_t, int64_t, float*);
template void LoadColumns(const Rows&, int64_t, int64_t, int64_t, double*);

}  // namespace regard::inline v0
