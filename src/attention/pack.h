// Copies of q, k and v in the order in which the kernels read them.
#ifndef REGARD_SRC_ATTENTION_PACK_H_
#define REGARD_SRC_ATTENTION_PACK_H_

#include <cstdint>
#include <span>

#include "attention/mask/mask_set.h"
#include "attention/rows.h"

namespace regard::inline v0 {

// Whether none of them is infinite or NaN.
template <typename T>
bool AllFinite(const T* values, int64_t count);

// to[d * strip_rows + r] = factor * q[rows.begin + r, d]; 0 past rows.end.
template <typename T>
void PackQueries(const Rows& q, IndexRange rows, int64_t depth,
                 int64_t strip_rows, double factor, T* to);

// to[i * width + d] = from[first + i, d] for i in [0, count) and d < columns; 0
// for d in [columns, width).
template <typename T>
void CopyRows(const Rows& from, int64_t first, int64_t count, int64_t columns,
              int64_t width, T* to);

// Panels of `panel` keys: to[(j / panel) * depth * panel + d * panel + j %
// panel] = k[first + j, d] for j in [0, count); 0 for keys outside the ranges
// `seen`, parts of [first, first + count), which are never read.
template <typename T>
void PackKeys(const Rows& k, int64_t first, int64_t count,
              std::span<const IndexRange> seen, int64_t depth, int64_t panel,
              T* to);

// What kernels must know of the values of a key block.
enum class ValueClass : uint8_t {
  kOrdinary,
  kUnusual,    // finite, some so large that their sum may overflow, or some -0
  kNotFinite,  // some NaN or infinity
};

// Panels of `panel` columns, one after the other, each [count][panel] (the last
// one narrower when `padded_columns` is not a multiple of `panel`). Columns
// from `columns` on, and keys outside `seen`, are 0.
template <typename T>
ValueClass PackValues(const Rows& v, int64_t first, int64_t count,
                      std::span<const IndexRange> seen, int64_t columns,
                      int64_t padded_columns, int64_t panel, T* to);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PACK_H_
