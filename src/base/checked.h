// Overflow-checked 64-bit arithmetic for sizes and offsets.
#ifndef REGARD_SRC_BASE_CHECKED_H_
#define REGARD_SRC_BASE_CHECKED_H_

#include <cstdint>

#include "regard/error.h"

namespace regard::inline v0 {

// a * b and a + b; an Error of kind kSize naming `subject` when the result does
// not fit 64 bits.
inline int64_t CheckedMul(int64_t a, int64_t b, const char* subject) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) {
    throw Error(ErrorKind::kSize, subject,
                std::to_string(a) + " x " + std::to_string(b) +
                    " elements do not fit a 64-bit size");
  }
  return out;
}

inline int64_t CheckedAdd(int64_t a, int64_t b, const char* subject) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) {
    throw Error(ErrorKind::kSize, subject,
                std::to_string(a) + " + " + std::to_string(b) +
                    " does not fit a 64-bit size");
  }
  return out;
}

inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_CHECKED_H_
