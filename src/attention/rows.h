// Where the rows of one head of q, k or v lie, and in which type.
#ifndef REGARD_SRC_ATTENTION_ROWS_H_
#define REGARD_SRC_ATTENTION_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "regard/tensor.h"

namespace regard::inline v0 {

// Row i stands in slot i; in a ring, from row `pinned` on, in slot
// pinned + (i - pinned) % period. Slot s is a row of one array or, where there
// is a table, row s % page_rows of page table[s / page_rows].
struct Rows {
  const std::byte* data = nullptr;  // row 0, of page 0
  DType dtype = DType::kF32;
  int64_t item_size = 4;                      // of dtype, in bytes
  int64_t row_stride = 0, column_stride = 0;  // in elements, as all strides
  int64_t pinned = 0, period = 0;             // period 0: no ring
  const std::byte* table = nullptr;
  bool wide_table = false;  // i64, not i32
  int64_t table_stride = 0, page_stride = 0, page_rows = 0;
  // Of rows of i8: what each is multiplied by, at the places of the rows.
  const float* scales = nullptr;
  int64_t scale_stride = 0, scale_page_stride = 0;

  // Row i, whose first element is of type `dtype`.
  const std::byte* At(int64_t row) const;
  const float* ScaleAt(int64_t row) const {
    return scales + PlaceOf(row, scale_stride, scale_page_stride);
  }
  // The same as At, where the type is T.
  template <typename T>
  const T* Row(int64_t row) const {
    return reinterpret_cast<const T*>(At(row));
  }
  // The end of the rows from `row` on, up to `end`, all of them there, that are
  // row_stride apart, and their scales scale_stride.
  int64_t RunEnd(int64_t row, int64_t end) const;
  // Whether rows can be read where they lie, as whole vectors of T.
  template <typename T>
  bool IsPlain() const {
    return dtype == DTypeOf<T>() && column_stride == 1;
  }

 private:
  int64_t SlotOf(int64_t row) const {
    return period == 0 || row < pinned ? row : pinned + (row - pinned) % period;
  }
  int64_t PageOf(int64_t slot) const;
  int64_t PlaceOf(int64_t row, int64_t of_row, int64_t of_page) const;
};

inline int64_t Rows::PageOf(int64_t slot) const {
  const int64_t at = slot / page_rows * table_stride;
  return wide_table ? reinterpret_cast<const int64_t*>(table)[at]
                    : reinterpret_cast<const int32_t*>(table)[at];
}

inline int64_t Rows::PlaceOf(int64_t row, int64_t of_row,
                             int64_t of_page) const {
  const int64_t slot = SlotOf(row);
  return table == nullptr ? slot * of_row
                          : PageOf(slot) * of_page + slot % page_rows * of_row;
}

inline const std::byte* Rows::At(int64_t row) const {
  return data + PlaceOf(row, row_stride, page_stride) * item_size;
}

inline int64_t Rows::RunEnd(int64_t row, int64_t end) const {
  if (period != 0) {
    end = std::min(
        end, row < pinned ? pinned : row + period - (row - pinned) % period);
  }
  if (table == nullptr) return end;
  // Pages that lie one behind the other are one run.
  const bool adjoin =
      page_stride == page_rows * row_stride &&
      (scales == nullptr || scale_page_stride == page_rows * scale_stride);
  int64_t slot = SlotOf(row);
  int64_t next = row + page_rows - slot % page_rows;
  while (adjoin && next < end && PageOf(slot + page_rows) == PageOf(slot) + 1) {
    slot += page_rows;
    next += page_rows;
  }
  return std::min(end, next);
}

// Of a view [B, H, L, D], and of scales [B, H, L] where they are given: row
// `first` of one head on.
Rows RowsOf(const TensorView& view, int64_t batch, int64_t head, int64_t first,
            const TensorView& scales = {});

// to[c] = columns [begin, begin + count) of a row as T: float from f32, bf16,
// f16 and i8 times its scale (in f32), double from f64 and each of these.
template <typename T>
void LoadColumns(const Rows& rows, int64_t row, int64_t begin, int64_t count,
                 T* to);

// Columns at `to`, `stride` elements of type `dtype` apart, rounded once to it,
// which may be any floating type.
template <typename T>
void StoreColumns(DType dtype, std::byte* to, int64_t stride, int64_t count,
                  const T* values);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ROWS_H_
