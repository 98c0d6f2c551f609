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

// All ones in infinities and NaN.
template <typename T>
constexpr BitsOf<T> kExponent = sizeof(T) == 4
                                    ? BitsOf<T>{0x7F800000}
                                    : static_cast<BitsOf<T>>(0x7FFull << 52);

// Whether none of the bf16 in the cells is infinite or NaN.
bool HalvesFinite(const float* cells, int64_t count) {
  constexpr uint32_t kLow = 0x7F80, kHigh = kLow << 16;
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t pair = std::bit_cast<uint32_t>(cells[i]);
    found |=
        uint32_t{(pair & kLow) == kLow} | uint32_t{(pair & kHigh) == kHigh};
  }
  return found == 0;
}
bool HalvesFinite(const double*, int64_t) { return true; }  // never asked

// Elements of a row that are converted, or put side by side, at a time: whole
// vectors, but for a row's last piece.
constexpr int64_t kPiece = 64;
// A rest of less than a vector belongs to the piece before it.
constexpr int64_t kLongestPiece = kPiece + 16;

template <typename T>
constexpr T kZeros[kLongestPiece] = {};

}  // namespace

// Integer tests: unlike comparisons of floats they are turned into vector code.
template <typename T>
bool AllFinite(const T* values, int64_t count) {
  BitsOf<T> found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const BitsOf<T> bits = std::bit_cast<BitsOf<T>>(values[i]);
    found |= (bits & kExponent<T>) == kExponent<T>;
  }
  return found == 0;
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

// At most kLongestPiece elements of a row.
template <typename T>
struct Packer<T>::Piece {
  int64_t begin, count;

  // The one from `begin` on.
  static Piece Of(int64_t begin, int64_t columns) {
    const int64_t rest = columns - begin;
    return {begin, rest <= kLongestPiece ? rest : kPiece};
  }
};

// Rows that are packed together.
template <typename T>
struct Packer<T>::Group {
  int64_t rows[kMostPackedRows<T>];  // -1: none, a row of 0
  int64_t count;
};

// Tells for one key after the other whether it lies in some of the ranges,
// which are in order.
template <typename T>
class Packer<T>::Seen {
 public:
  explicit Seen(std::span<const IndexRange> ranges) : ranges_(ranges) {}
  bool Has(int64_t key) {
    while (at_ < ranges_.size() && ranges_[at_].end <= key) ++at_;
    return at_ < ranges_.size() && ranges_[at_].begin <= key;
  }

 private:
  std::span<const IndexRange> ranges_;
  size_t at_ = 0;
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

// The bf16 of the piece, side by side.
template <typename T>
const uint16_t* Packer<T>::HalvesOf(const Rows& rows, int64_t row, Piece piece,
                                    uint16_t* memory) const {
  const int64_t stride = rows.column_stride;
  const uint16_t* from = rows.Row<uint16_t>(row) + piece.begin * stride;
  if (stride == 1) return from;
  for (int64_t c = 0; c < piece.count; ++c) memory[c] = from[c * stride];
  return memory;
}

template <typename T>
const T* Packer<T>::PairsOf(const Rows& rows, int64_t row, Piece piece,
                            T* memory) const {
  uint16_t copies[kLongestPiece];
  const uint16_t* from = HalvesOf(rows, row, piece, copies);
  memory[CellsOf(piece.count) - 1] = 0;  // half of it, where the count is odd
  std::memcpy(memory, from, static_cast<size_t>(piece.count) * sizeof(*from));
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

// The rows become columns: cell d of row r of the group stands in to[d * step +
// r], for r below `width`.
template <typename T>
void Packer<T>::Columns(const Rows& rows, const Group& group, int64_t depth,
                        double factor, int64_t width, T* to,
                        int64_t step) const {
  T memory[kMostPackedRows<T>][kLongestPiece];
  const T* cells[kMostPackedRows<T>];
  // Where T doesn't hold it, or there is more than one number in a cell.
  const bool apart =
      factor != 1 &&
      (pairs_ || static_cast<double>(static_cast<T>(factor)) != factor);
  const bool plain = rows.IsPlain<T>() && !pairs_ && !apart;
  for (int64_t at = 0; at < depth;) {
    const Piece piece = Piece::Of(at, depth);
    const int64_t count = CellsOf(piece.count);
    for (int64_t r = 0; r < ops_.lanes; ++r) {
      const bool there = r < group.count && group.rows[r] >= 0;
      cells[r] = kZeros<T>;
      if (!there) continue;
      if (plain) {  // at once: there are many
        cells[r] = rows.Row<T>(group.rows[r]) + at;
        continue;
      }
      cells[r] = PieceOf(rows, group.rows[r], piece, memory[r]);
      if (!apart) continue;
      ScaleCells(cells[r], count, factor, pairs_, memory[r]);
      cells[r] = memory[r];
    }
    ops_.columns(cells, count, width, apart ? T{1} : static_cast<T>(factor),
                 to + CellsOf(at) * step, step);
    at += piece.count;
  }
}

template <typename T>
void Packer<T>::Queries(const Rows& q, IndexRange rows, int64_t depth,
                        int64_t strip_rows, double factor, T* to) const {
  // The last group first: a column of it that is narrower than a vector is
  // written together with the beginning of the next column of the first.
  for (int64_t begin = (strip_rows - 1) / ops_.lanes * ops_.lanes; begin >= 0;
       begin -= ops_.lanes) {
    Group group;
    group.count = std::min(ops_.lanes, strip_rows - begin);
    for (int64_t r = 0; r < group.count; ++r) {
      const int64_t row = rows.begin + begin + r;
      group.rows[r] = row < rows.end ? row : -1;
    }
    Columns(q, group, depth, factor, group.count, to + begin, strip_rows);
  }
}

// The next keys of the cursor.
template <typename T>
typename Packer<T>::Group Packer<T>::GroupOf(int64_t first, int64_t count,
                                             Seen& seen) const {
  Group group;
  group.count = std::min(ops_.lanes, count);
  for (int64_t r = 0; r < group.count; ++r) {
    const int64_t key = first + r;
    group.rows[r] = seen.Has(key) ? key : -1;
  }
  return group;
}

template <typename T>
void Packer<T>::Keys(const Rows& k, int64_t first, int64_t count,
                     std::span<const IndexRange> seen, int64_t depth,
                     int64_t panel, T* to) const {
  const int64_t cells = CellsOf(depth);
  Seen cursor(seen);
  for (int64_t j = 0; j < count; j += ops_.lanes) {
    const Group group = GroupOf(first + j, count - j, cursor);
    Columns(k, group, depth, 1, ops_.lanes,
            to + j / panel * cells * panel + j % panel, panel);
  }
}

template <typename T>
ValueClass Packer<T>::Values(const Rows& v, int64_t first, int64_t count,
                             std::span<const IndexRange> seen, int64_t columns,
                             int64_t padded_columns, int64_t panel,
                             T* to) const {
  bool ordinary = true;
  Seen cursor(seen);
  for (int64_t j = 0; j < count; j += ops_.lanes) {
    const Group group = GroupOf(first + j, count - j, cursor);
    for (int64_t at = 0; at < padded_columns; at += kPiece) {
      const ValuePanels panels = {std::min(kPiece, columns - at),
                                  std::min(kPiece, padded_columns - at), panel,
                                  CellsOf(panel * count), j};
      ordinary &= ValuesOf(v, group, at, panels, to + CellsOf(at * count));
    }
  }
  if (ordinary) return ValueClass::kOrdinary;
  const int64_t cells = CellsOf(padded_columns * count);
  const bool finite = pairs_ ? HalvesFinite(to, cells) : AllFinite(to, cells);
  return finite ? ValueClass::kUnusual : ValueClass::kNotFinite;
}

// Columns from `at` on; returns whether they are ordinary.
template <typename T>
bool Packer<T>::ValuesOf(const Rows& v, const Group& group, int64_t at,
                         const ValuePanels& panels, T* to) const {
  const Piece piece = {at, panels.columns};
  if constexpr (sizeof(T) == sizeof(float)) {
    if (pairs_) {
      uint16_t memory[kMostPackedRows<T>][kLongestPiece];
      const uint16_t* halves[kMostPackedRows<T>];
      for (int64_t r = 0; r < group.count; ++r) {
        halves[r] = group.rows[r] < 0
                        ? nullptr
                        : HalvesOf(v, group.rows[r], piece, memory[r]);
      }
      return ops_.pair_values(halves, group.count, panels, to);
    }
  }
  T memory[kMostPackedRows<T>][kLongestPiece];
  const T* numbers[kMostPackedRows<T>];
  for (int64_t r = 0; r < group.count; ++r) {
    numbers[r] = group.rows[r] < 0
                     ? nullptr
                     : PieceOf(v, group.rows[r], piece, memory[r]);
  }
  return ops_.values(numbers, group.count, panels, to);
}

#define REGARD_INSTANTIATE(T)                                                  \
  template bool AllFinite(const T*, int64_t);                                  \
  template void CopyRows(const Rows&, int64_t, int64_t, int64_t, int64_t, T*); \
  template class Packer<T>;
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard::inline v0
