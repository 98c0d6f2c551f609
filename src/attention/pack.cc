#include "attention/pack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/checked.h"
#include "tensor/convert.h"

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

// Whether the test finds one of the 16-bit numbers in the cells.
template <typename Test>
bool FindHalf(const float* cells, int64_t count, const Test& test) {
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t pair = std::bit_cast<uint32_t>(cells[i]);
    found |= test(pair & 0xFFFF) | test(pair >> 16);
  }
  return found != 0;
}

// The class of pairs of bf16.
ValueClass ClassifyPairs(const float* cells, int64_t count) {
  constexpr uint32_t kExponentBits = 0x7F80, kLarge = 0x6000;
  const bool unusual = FindHalf(cells, count, [](uint32_t half) {
    const uint32_t exponent = half & kExponentBits;
    return uint32_t{(half & kLarge) == kLarge} |
           (uint32_t{exponent == 0} & uint32_t{half != 0});
  });
  if (!unusual) return ValueClass::kOrdinary;
  const bool infinite = FindHalf(cells, count, [](uint32_t half) {
    return uint32_t{(half & kExponentBits) == kExponentBits};
  });
  return infinite ? ValueClass::kNotFinite : ValueClass::kUnusual;
}

bool IsWhole(std::span<const IndexRange> seen, IndexRange whole) {
  return seen.size() == 1 && seen.front() == whole;
}

// Rows whose memory is asked for before it is read: what is packed is read
// once, and copying alone doesn't keep the memory busy.
constexpr int64_t kRowsAhead = 16;

// Asks for the row that comes kRowsAhead later, up to `end`.
void FetchAhead(const Rows& rows, int64_t row, int64_t end, int64_t columns) {
  constexpr int64_t kLineBytes = 64;
  row += kRowsAhead;
  if (row >= end || rows.column_stride != 1) return;
  const std::byte* at = rows.At(row);
  for (int64_t b = 0; b < columns * rows.item_size; b += kLineBytes) {
    __builtin_prefetch(at + b);
  }
}

// Elements of a row that are converted, or put side by side, at a time.
constexpr int64_t kPiece = 64;

constexpr uint16_t kNoValues[kPiece] = {};

}  // namespace

template <typename T>
bool AllFinite(const T* values, int64_t count) {
  return !Find(values, count, kExponent<T>, kExponent<T>);
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

// At most kPiece elements of a row.
template <typename T>
struct Packer<T>::Piece {
  int64_t begin, count;
};

template <typename T>
void Packer<T>::Convert(const Rows& rows, int64_t row, Piece piece,
                        T* to) const {
  if constexpr (sizeof(T) == sizeof(float)) {
    const bool half = rows.dtype == DType::kBF16 || rows.dtype == DType::kF16;
    if (half && rows.column_stride == 1) {
      const uint16_t* from = rows.Row<uint16_t>(row) + piece.begin;
      const auto convert =
          rows.dtype == DType::kBF16 ? ops_.from_bf16 : ops_.from_f16;
      return convert(from, piece.count, to);
    }
  }
  if (rows.IsPlain<T>()) {
    std::memcpy(to, rows.Row<T>(row) + piece.begin,
                static_cast<size_t>(piece.count) * sizeof(T));
  } else {
    LoadColumns(rows, row, piece.begin, piece.count, to);
  }
}

// The cells of the piece, side by side: where they are, or in `memory`.
template <typename T>
const T* Packer<T>::PieceOf(const Rows& rows, int64_t row, Piece piece,
                            T* memory) const {
  if (pairs_) return PairsOf(rows, row, piece, memory);
  if (rows.IsPlain<T>()) return rows.Row<T>(row) + piece.begin;
  Convert(rows, row, piece, memory);
  return memory;
}

template <typename T>
const T* Packer<T>::PairsOf(const Rows& rows, int64_t row, Piece piece,
                            T* memory) const {
  const int64_t stride = rows.column_stride;
  const uint16_t* from = rows.Row<uint16_t>(row) + piece.begin * stride;
  const size_t bytes = static_cast<size_t>(CellsOf(piece.count)) * sizeof(T);
  if (stride == 1 && piece.count % 2 == 0) {
    std::memcpy(memory, from, bytes);
    return memory;
  }
  uint16_t halves[kPiece + 1];
  for (int64_t c = 0; c < piece.count; ++c) halves[c] = from[c * stride];
  halves[piece.count] = 0;
  std::memcpy(memory, halves, bytes);
  return memory;
}

namespace {

float Scaled(float number, float factor) { return factor * number; }
float Scaled(float number, double factor) {
  return static_cast<float>(factor * static_cast<double>(number));
}

// Cells times a power of two. F is float where it holds the factor exactly: the
// products are rounded once either way, and to bf16 without harm a second time,
// as 8 bits of a number never reach from a tie to the end of what f32 holds.
template <typename F>
void ScaleFloats(const float* from, int64_t count, F factor, bool pairs,
                 float* to) {
  if (!pairs) {
    for (int64_t c = 0; c < count; ++c) to[c] = Scaled(from[c], factor);
    return;
  }
  for (int64_t c = 0; c < count; ++c) {
    const uint32_t pair = std::bit_cast<uint32_t>(from[c]);
    const auto scaled = [factor](uint32_t half) {
      const float number = F32FromBF16(static_cast<uint16_t>(half));
      return uint32_t{BF16FromF32(Scaled(number, factor))};
    };
    to[c] =
        std::bit_cast<float>(scaled(pair & 0xFFFF) | scaled(pair >> 16) << 16);
  }
}

void ScaleCells(const float* from, int64_t count, double factor, bool pairs,
                float* to) {
  const float narrow = static_cast<float>(factor);
  if (static_cast<double>(narrow) == factor) {
    ScaleFloats(from, count, narrow, pairs, to);
  } else {
    ScaleFloats(from, count, factor, pairs, to);
  }
}

void ScaleCells(const double* from, int64_t count, double factor, bool,
                double* to) {
  for (int64_t c = 0; c < count; ++c) to[c] = factor * from[c];
}

}  // namespace

// Rows side by side become columns: cell d of row range.begin + r stands in
// to[d * step + r]. Rows up to `fetch_end` come next.
template <typename T>
void Packer<T>::Columns(const Rows& rows, IndexRange range, int64_t fetch_end,
                        int64_t depth, double factor, T* to,
                        int64_t step) const {
  constexpr int64_t kGroup = kTransposedRows<T>;
  T memory[kGroup][kPiece];
  const T* pieces[kGroup];
  for (int64_t i = range.begin; i < range.end; i += kGroup) {
    const int64_t there = std::min(kGroup, range.end - i);
    for (int64_t r = 0; r < there; ++r) {
      FetchAhead(rows, i + r, fetch_end, depth);
    }
    for (int64_t at = 0; at < depth; at += kPiece) {
      const Piece piece = {at, std::min(kPiece, depth - at)};
      const int64_t cells = CellsOf(piece.count);
      for (int64_t r = 0; r < there; ++r) {
        T* const own = memory[r];
        pieces[r] = PieceOf(rows, i + r, piece, own);
        if (factor == 1) continue;
        ScaleCells(pieces[r], cells, factor, pairs_, own);
        pieces[r] = own;
      }
      T* const columns = to + (i - range.begin) + CellsOf(at) * step;
      if (there < kGroup) {
        for (int64_t c = 0; c < cells; ++c) {
          for (int64_t r = 0; r < there; ++r)
            columns[c * step + r] = pieces[r][c];
        }
      } else if constexpr (sizeof(T) == sizeof(float)) {
        ops_.columns_f32(pieces, cells, columns, step);
      } else {
        ops_.columns_f64(pieces, cells, columns, step);
      }
    }
  }
}

template <typename T>
void Packer<T>::Queries(const Rows& q, IndexRange rows, int64_t depth,
                        int64_t strip_rows, double factor, T* to) const {
  if (rows.end - rows.begin < strip_rows) {
    std::fill(to, to + CellsOf(depth) * strip_rows, T{0});
  }
  Columns(q, rows, rows.end, depth, factor, to, strip_rows);
}

template <typename T>
void Packer<T>::Keys(const Rows& k, int64_t first, int64_t count,
                     std::span<const IndexRange> seen, int64_t depth,
                     int64_t panel, T* to) const {
  const int64_t cells = CellsOf(depth);
  if (!IsWhole(seen, {first, first + count})) {
    std::fill(to, to + cells * count, T{0});
  }
  for (const IndexRange& read : seen) {
    for (int64_t i = read.begin; i < read.end;) {
      const int64_t j = i - first;
      const int64_t end = std::min(read.end, first + RoundUp(j + 1, panel));
      Columns(k, {i, end}, read.end, depth, 1,
              to + j / panel * cells * panel + j % panel, panel);
      i = end;
    }
  }
}

template <typename T>
ValueClass Packer<T>::Values(const Rows& v, int64_t first, int64_t count,
                             std::span<const IndexRange> seen, int64_t columns,
                             int64_t padded_columns, int64_t panel,
                             T* to) const {
  if (!IsWhole(seen, {first, first + count}) || columns != padded_columns) {
    std::fill(to, to + CellsOf(padded_columns * count), T{0});
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    if (pairs_) {
      PairValues(v, first, count, seen, columns, padded_columns, panel, to);
      return ClassifyPairs(to, CellsOf(padded_columns * count));
    }
  }
  for (const IndexRange& read : seen) {
    for (int64_t i = read.begin; i < read.end; ++i) {
      FetchAhead(v, i, read.end, columns);
      for (int64_t begin = 0; begin < columns; begin += panel) {
        const int64_t width = std::min(panel, padded_columns - begin);
        const Piece used = {begin, std::min(width, columns - begin)};
        Convert(v, i, used, to + begin * count + (i - first) * width);
      }
    }
  }
  return Classify(to, padded_columns * count);
}

namespace {

// A part of a row of bf16, side by side; the 0 of a key that is not there.
struct HalfRow {
  uint16_t memory[kPiece];

  const uint16_t* Of(const Rows& v, bool there, int64_t key, int64_t begin,
                     int64_t count) {
    if (!there) return kNoValues;
    const uint16_t* from = v.Row<uint16_t>(key) + begin * v.column_stride;
    if (v.column_stride == 1) return from;
    for (int64_t c = 0; c < count; ++c) memory[c] = from[c * v.column_stride];
    return memory;
  }
};

}  // namespace

template <typename T>
void Packer<T>::PairValues(const Rows& v, int64_t first, int64_t count,
                           std::span<const IndexRange> seen, int64_t columns,
                           int64_t padded_columns, int64_t panel,
                           float* to) const {
  HalfRow memory[2];
  for (int64_t begin = 0; begin < columns; begin += panel) {
    const int64_t width = std::min(panel, padded_columns - begin);
    const int64_t used = std::min(width, columns - begin);
    float* const cells = to + begin * count / 2;
    // The ranges lie apart: no pair is in two of them.
    for (const IndexRange& read : seen) {
      for (int64_t i = read.begin / 2 * 2; i < read.end; i += 2) {
        const uint16_t* low = memory[0].Of(v, i >= read.begin, i, begin, used);
        const uint16_t* high =
            memory[1].Of(v, i + 1 < read.end, i + 1, begin, used);
        ops_.pairs(low, high, used, cells + (i - first) / 2 * width);
      }
    }
  }
}

#define REGARD_INSTANTIATE(T)                                                  \
  template bool AllFinite(const T*, int64_t);                                  \
  template void CopyRows(const Rows&, int64_t, int64_t, int64_t, int64_t, T*); \
  template class Packer<T>;
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
