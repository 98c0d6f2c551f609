// Rows of keys or values as a cache keeps them.
#ifndef REGARD_SRC_ATTENTION_CACHE_STORED_ROWS_H_
#define REGARD_SRC_ATTENTION_CACHE_STORED_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "attention/rows.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// [sequences or pages, Hkv, rows, size] and, for i8, a scale for each row. With
// the heads outside in memory, pages that are taken one after the other lie
// side by side for each head, and are read like one array.
struct StoredRows {
  StoredRows() = default;
  StoredRows(DType dtype, const Dims& shape, bool heads_outside);

  size_t bytes() const { return memory.ByteSize() + scale_memory.ByteSize(); }
  // The first `count` rows of a page become those of another.
  void CopyPage(int64_t from, int64_t to, int64_t count);

  Tensor memory, scale_memory;
  MutableTensorView rows, scales;
};

// Row `row` of `from` to `columns` columns at `to`, `stride` elements of a
// floating type apart, rounded once to it.
void CopyRow(const Rows& from, int64_t row, DType dtype, std::byte* to,
             int64_t stride, int64_t columns);
// The same to row `key` of a cache. i8: the largest magnitude of a row becomes
// 127, the others are rounded to nearest; a row that isn't finite becomes NaN.
void StoreRow(const Rows& from, int64_t row, const Rows& to, int64_t key,
              int64_t columns);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_CACHE_STORED_ROWS_H_
