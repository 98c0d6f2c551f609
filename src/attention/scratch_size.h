// Sizes of scratch memory: checked, and in whole cache lines and vectors.
#ifndef REGARD_SRC_ATTENTION_SCRATCH_SIZE_H_
#define REGARD_SRC_ATTENTION_SCRATCH_SIZE_H_

#include <cstdint>

#include "base/checked.h"

namespace regard::inline v0::scratch {

// Error (kSize) past 64 bits.
inline int64_t Product(int64_t a, int64_t b) {
  return CheckedMul(a, b, "attention scratch");
}
inline int64_t Sum(int64_t a, int64_t b) {
  return CheckedAdd(a, b, "attention scratch");
}

// RoundUp that reports sizes past 64 bits: whole vectors, whole panels.
inline int64_t Whole(int64_t elements, int64_t unit) {
  return RoundUp(Sum(elements, unit), unit) - unit;
}

// Whole cache lines, so that what follows is aligned and shares none.
template <typename T>
int64_t Lines(int64_t elements) {
  return RoundUp(Sum(elements, 64), 64 / static_cast<int64_t>(sizeof(T)));
}

}  // namespace regard::inline v0::scratch

#endif  // REGARD_SRC_ATTENTION_SCRATCH_SIZE_H_
