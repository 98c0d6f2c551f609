#include "attention/pack.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace regard::inline v0 {

namespace {

// Exponent all ones: infinity or NaN. An integer test: unlike a comparison of
// floats it is turned into vector code.
template <typename T>
bool AllFinite(const T* values, int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent =
      sizeof(T) == 4 ? Bits{0x7F800000} : static_cast<Bits>(0x7FFull << 52);
  Bits found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Bits bits = std::bit_cast<Bits>(values[i]);
    found |= (bits & kExponent) == kExponent;
  }
  return found == 0;
}

}  // namespace

template <typename T>
void PackQueries(const Matrix<T>& q, IndexRange rows, int64_t depth,
                 int64_t strip_rows, double factor, T* to) {
  std::fill(to, to + depth * strip_rows, T{0});
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const T* row = q.Row(i);
    T* column = to + (i - rows.begin);
    for (int64_t d = 0; d < depth; ++d) {
      column[d * strip_rows] = static_cast<T>(
          factor * static_cast<double>(row[d * q.column_stride]));
    }
  }
}

template <typename T>
void PackKeys(const Matrix<T>& k, int64_t first, int64_t count,
              IndexRange visible, int64_t depth, int64_t panel, T* to) {
  const IndexRange whole = {first, first + count};
  if ((visible & whole) != whole) std::fill(to, to + depth * count, T{0});
  const IndexRange read = visible & whole;
  for (int64_t i = read.begin; i < read.end; ++i) {
    const int64_t j = i - first;
    const T* row = k.Row(i);
    T* column = to + j / panel * depth * panel + j % panel;
    for (int64_t d = 0; d < depth; ++d) {
      column[d * panel] = row[d * k.column_stride];
    }
  }
}

template <typename T>
bool PackValues(const Matrix<T>& v, int64_t first, int64_t count,
                IndexRange visible, int64_t columns, int64_t padded_columns,
                int64_t panel, T* to) {
  const IndexRange whole = {first, first + count};
  if ((visible & whole) != whole || columns != padded_columns) {
    std::fill(to, to + padded_columns * count, T{0});
  }
  const IndexRange read = visible & whole;
  for (int64_t begin = 0; begin < columns; begin += panel) {
    const int64_t width = std::min(panel, padded_columns - begin);
    const int64_t used = std::min(width, columns - begin);
    for (int64_t i = read.begin; i < read.end; ++i) {
      const T* row = v.Row(i) + begin * v.column_stride;
      T* packed = to + begin * count + (i - first) * width;
      for (int64_t e = 0; e < used; ++e) packed[e] = row[e * v.column_stride];
    }
  }
  return AllFinite(to, padded_columns * count);
}

#define REGARD_INSTANTIATE(T)                                               \
  template void PackQueries(const Matrix<T>&, IndexRange, int64_t, int64_t, \
                            double, T*);                                    \
  template void PackKeys(const Matrix<T>&, int64_t, int64_t, IndexRange,    \
                         int64_t, int64_t, T*);                             \
  template bool PackValues(const Matrix<T>&, int64_t, int64_t, IndexRange,  \
                           int64_t, int64_t, int64_t, T*);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
