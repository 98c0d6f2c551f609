// What may have gone wrong in a row of the output.
#ifndef REGARD_SRC_ATTENTION_ROW_CHECK_H_
#define REGARD_SRC_ATTENTION_ROW_CHECK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention/pack.h"

namespace regard::inline v0 {

// Whether a running sum, divided by `sum` at the end, is right in all of a row.
// It is not for values so large that their sum overflows where their mean does
// not, and loses the sign of a -0 that has all the weight.
template <typename T>
bool IsExact(bool finite, const T* row, int64_t size, T sum) {
  // A search for zeros is rarely needed, and short rows are many.
  return !std::isfinite(sum) ||
         (finite &&
          (sum != 1 || std::find(row, row + size, T{0}) == row + size));
}

template <typename T>
bool IsExact(const T* row, int64_t size, T sum) {
  return IsExact(AllFinite(row, size), row, size, sum);
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ROW_CHECK_H_
