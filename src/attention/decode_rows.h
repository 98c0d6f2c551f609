// Keys and values as the decode loop takes them: where they lie, as far as an
// instruction set can read them there, or as copies.
#ifndef REGARD_SRC_ATTENTION_DECODE_ROWS_H_
#define REGARD_SRC_ATTENTION_DECODE_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/decode_memory.h"
#include "attention/pack.h"
#include "base/checked.h"

namespace regard::inline v0 {

// Keys from `key` to the next multiple of kCopiedRows: where sums are cut
// depends on positions only.
inline int64_t ToPieceEnd(int64_t key) {
  return kCopiedRows - key % kCopiedRows;
}

// Some keys or values, and what computes with them.
template <typename T>
struct StoredRun {
  const StoredOps<T>* ops;
  StoredRows rows;
  int64_t item_size;  // of an element, in bytes
  int64_t count, columns;

  StoredRows From(int64_t row) const {
    StoredRows rest = rows;
    rest.first = static_cast<const std::byte*>(rows.first) +
                 row * rows.stride * item_size;
    if (rows.scales != nullptr) rest.scales += row * rows.scale_stride;
    return rest;
  }
};

template <typename T>
class DecodeRows {
 public:
  // `copied` is memory for kCopiedRows rows of `columns` numbers in whole
  // vectors; `after` what is read after the last row.
  DecodeRows(const DecodeOps<T>& ops, const Rows& rows, int64_t columns,
             T* copied, const void* after = nullptr)
      : ops_(ops),
        rows_(rows),
        columns_(columns),
        width_(RoundUp(columns, ops.lanes)),
        copied_(copied),
        after_(after) {
    const bool whole = columns % ops.lanes == 0;
    if (rows.column_stride == 1 && (ops.reads_tails || whole)) {
      in_place_ = ops.For(rows.dtype);
    }
  }

  // Calls visit(j, run) for the rows from j on, run after run.
  template <typename Visit>
  void ForEach(IndexRange keys, const Visit& visit) const {
    for (int64_t count, j = keys.begin; j < keys.end; j += count) {
      count = in_place_ != nullptr ? rows_.RunEnd(j, keys.end) - j
                                   : std::min(ToPieceEnd(j), keys.end - j);
      visit(j, in_place_ != nullptr ? InPlace(j, count, keys.end)
                                    : Copied(j, count, keys));
    }
  }

  // The same for whole pairs of rows, where `ops` wants them: from an even j
  // on. Rows beyond `keys` are not read, and 0. A pair that doesn't lie side by
  // side is copied.
  template <typename Visit>
  void ForPairs(IndexRange keys, const Visit& visit) const {
    const int64_t pair = ops_.pair();
    if (pair == 1) return ForEach(keys, visit);
    const int64_t end = RoundUp(keys.end, pair);
    for (int64_t count, j = keys.begin / pair * pair; j < end; j += count) {
      count = in_place_ != nullptr && j >= keys.begin
                  ? (rows_.RunEnd(j, keys.end) - j) / pair * pair
                  : 0;
      if (count > 0) {
        visit(j, InPlace(j, count, keys.end));
        continue;
      }
      count = in_place_ != nullptr ? pair : std::min(ToPieceEnd(j), end - j);
      visit(j, Copied(j, count, keys));
    }
  }

 private:
  // Of rows up to `end`.
  StoredRun<T> InPlace(int64_t first, int64_t count, int64_t end) const {
    StoredRows stored = {rows_.At(first), rows_.row_stride};
    stored.next = first + count < end ? rows_.At(first + count) : after_;
    if (rows_.scales != nullptr) {
      stored.scales = rows_.ScaleAt(first);
      stored.scale_stride = rows_.scale_stride;
    }
    return {in_place_, stored, rows_.item_size, count, columns_};
  }

  // Rows outside `there` are 0.
  StoredRun<T> Copied(int64_t first, int64_t count, IndexRange there) const {
    if (ops_.pairs) {
      CopyHalves(first, count, there);
    } else {
      CopyRows(rows_, first, count, columns_, width_, copied_);
    }
    const int64_t item_size = static_cast<int64_t>(sizeof(T)) / ops_.pair();
    return {ops_.same, {copied_, width_}, item_size, count, width_};
  }

  void CopyHalves(int64_t first, int64_t count, IndexRange there) const {
    uint16_t* to = reinterpret_cast<uint16_t*>(copied_);
    std::fill(to, to + count * width_, uint16_t{0});
    for (int64_t i = std::max(first, there.begin);
         i < std::min(first + count, there.end); ++i) {
      const uint16_t* from = rows_.Row<uint16_t>(i);
      uint16_t* row = to + (i - first) * width_;
      for (int64_t c = 0; c < columns_; ++c) {
        row[c] = from[c * rows_.column_stride];
      }
    }
  }

  const DecodeOps<T>& ops_;
  const Rows& rows_;
  const int64_t columns_, width_;
  T* const copied_;
  const void* const after_;
  const StoredOps<T>* in_place_ = nullptr;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_DECODE_ROWS_H_
