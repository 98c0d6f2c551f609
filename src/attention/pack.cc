#include "attention/pack.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace regard::inline v0 {

namespace {

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Whether the exponent of some value has all of the bits `exponent`, or the
// value is `exact`. Integer tests: unlike comparisons of floats they are turned
// into vector code.
template <typename T>
bool Find(const T* values, int64_t count, BitsOf<T> exponent, BitsOf<T> exact) {
  BitsOf<T> found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const BitsOf<T> bits = std::bit_cast<BitsOf<T>>(values[i]);
    found |= ((bits & exponent) == exponent) | (bits == exact);
  }
  return found != 0;
}

// All ones in infinities and NaN.
template <typename T>
constexpr BitsOf<T> kExponent = sizeof(T) == 4
                                    ? BitsOf<T>{0x7F800000}
                                    : static_cast<BitsOf<T>>(0x7FFull << 52);

template <typename T>
ValueClass Classify(const T* values, int64_t count) {
  using Bits = BitsOf<T>;
  // The two highest bits of an exponent: values from 2^65 on (2^513). No number
  // of smaller ones sums up to infinity.
  constexpr Bits kLarge = Bits{3} << (8 * sizeof(T) - 3);
  constexpr Bits kMinusZero = Bits{1} << (8 * sizeof(T) - 1);
  if (!Find(values, count, kLarge, kMinusZero)) return ValueClass::kOrdinary;
  return AllFinite(values, count) ? ValueClass::kUnusual
                                  : ValueClass::kNotFinite;
}

}  // namespace

namespace {

// Columns converted at a time.
constexpr int64_t kPiece = 64;

// Calls visit(begin, count, columns, stride) for the columns of a row as T, all
// at once where the row holds such already, else in converted pieces.
template <typename T, typename Visit>
void ForColumns(const Rows& rows, int64_t row, int64_t begin, int64_t end,
                const Visit& visit) {
  if (rows.dtype == DTypeOf<T>()) {
    visit(begin, end - begin, rows.Row<T>(row) + begin * rows.column_stride,
          rows.column_stride);
    return;
  }
  T piece[kPiece];
  for (int64_t c = begin; c < end; c += kPiece) {
    const int64_t count = std::min(kPiece, end - c);
    LoadColumns(rows, row, c, count, piece);
    visit(c, count, piece, int64_t{1});
  }
}

bool IsWhole(std::span<const IndexRange> seen, IndexRange whole) {
  return seen.size() == 1 && seen.front() == whole;
}

}  // namespace

template <typename T>
bool AllFinite(const T* values, int64_t count) {
  return !Find(values, count, kExponent<T>, kExponent<T>);
}

template <typename T>
void PackQueries(const Rows& q, IndexRange rows, int64_t depth,
                 int64_t strip_rows, double factor, T* to) {
  std::fill(to, to + depth * strip_rows, T{0});
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    T* column = to + (i - rows.begin);
    ForColumns<T>(q, i, 0, depth,
                  [&](int64_t at, int64_t count, const T* row, int64_t stride) {
                    for (int64_t d = 0; d < count; ++d) {
                      column[(at + d) * strip_rows] = static_cast<T>(
                          factor * static_cast<double>(row[d * stride]));
                    }
                  });
  }
}

template <typename T>
void CopyRows(const Rows& from, int64_t first, int64_t count, int64_t columns,
              int64_t width, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    T* copy = to + i * width;
    LoadColumns(from, first + i, 0, columns, copy);
    std::fill(copy + columns, copy + width, T{0});
  }
}

template <typename T>
void PackKeys(const Rows& k, int64_t first, int64_t count,
              std::span<const IndexRange> seen, int64_t depth, int64_t panel,
              T* to) {
  const IndexRange whole = {first, first + count};
  if (!IsWhole(seen, whole)) std::fill(to, to + depth * count, T{0});
  for (const IndexRange& read : seen) {
    for (int64_t i = read.begin; i < read.end; ++i) {
      const int64_t j = i - first;
      T* column = to + j / panel * depth * panel + j % panel;
      ForColumns<T>(k, i, 0, depth,
                    [&](int64_t at, int64_t n, const T* row, int64_t stride) {
                      for (int64_t d = 0; d < n; ++d) {
                        column[(at + d) * panel] = row[d * stride];
                      }
                    });
    }
  }
}

template <typename T>
ValueClass PackValues(const Rows& v, int64_t first, int64_t count,
                      std::span<const IndexRange> seen, int64_t columns,
                      int64_t padded_columns, int64_t panel, T* to) {
  const IndexRange whole = {first, first + count};
  if (!IsWhole(seen, whole) || columns != padded_columns) {
    std::fill(to, to + padded_columns * count, T{0});
  }
  for (int64_t begin = 0; begin < columns; begin += panel) {
    const int64_t width = std::min(panel, padded_columns - begin);
    const int64_t used = std::min(width, columns - begin);
    for (const IndexRange& read : seen) {
      for (int64_t i = read.begin; i < read.end; ++i) {
        LoadColumns(v, i, begin, used,
                    to + begin * count + (i - first) * width);
      }
    }
  }
  return Classify(to, padded_columns * count);
}

#define REGARD_INSTANTIATE(T)                                                  \
  template bool AllFinite(const T*, int64_t);                                  \
  template void CopyRows(const Rows&, int64_t, int64_t, int64_t, int64_t, T*); \
  template void PackQueries(const Rows&, IndexRange, int64_t, int64_t, double, \
                            T*);                                               \
  template void PackKeys(const Rows&, int64_t, int64_t,                        \
                         std::span<const IndexRange>, int64_t, int64_t, T*);   \
  template ValueClass PackValues(const Rows&, int64_t, int64_t,                \
                                 std::span<const IndexRange>, int64_t,         \
                                 int64_t, int64_t, T*);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
