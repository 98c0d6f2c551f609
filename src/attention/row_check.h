// What may have gone wrong in a row of the output.
#ifndef REGARD_SRC_ATTENTION_ROW_CHECK_H_
#define REGARD_SRC_ATTENTION_ROW_CHECK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace regard::inline v0 {

// Whether a running sum, divided by `sum` at the end, is right in all of a row.
// It is not for values so large that their sum overflows where their mean does
// not, and loses the sign of a -0 that has all the weight.
template <typename T>
bool IsExact(const T* row, int64_t size, T sum) {
  return !std::isfinite(sum) || std::all_of(row, row + size, [&](T x) {
    return std::isfinite(x) && (x != 0 || sum != 1);
  });
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ROW_CHECK_H_
