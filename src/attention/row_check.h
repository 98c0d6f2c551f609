// What may have gone wrong in a row of the output.
#ifndef REGARD_SRC_ATTENTION_ROW_CHECK_H_
#define REGARD_SRC_ATTENTION_ROW_CHECK_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace regard::inline v0 {

// Whether a running sum, divided by `sum` at the end, is right in all of a row.
// It is not for values so large that their sum overflows where their mean does
// not, and loses the sign of a -0 that has all the weight.
template <typename T>
bool IsExact(const T* row, int64_t size, T sum) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kExponent =
      sizeof(T) == 4 ? Bits{0x7F800000} : static_cast<Bits>(0x7FFull << 52);
  // Integer tests without a way out become vector code; short rows are many.
  Bits not_finite = 0, zero = 0;
  for (int64_t e = 0; e < size; ++e) {
    const Bits bits = std::bit_cast<Bits>(row[e]);
    not_finite |= (bits & kExponent) == kExponent;
    zero |= static_cast<Bits>(bits << 1) == 0;
  }
  return !std::isfinite(sum) || (not_finite == 0 && (zero == 0 || sum != 1));
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ROW_CHECK_H_
