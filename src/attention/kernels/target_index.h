// Choosing an instruction set in a table of HWY_EXPORT.
#ifndef REGARD_SRC_ATTENTION_KERNELS_TARGET_INDEX_H_
#define REGARD_SRC_ATTENTION_KERNELS_TARGET_INDEX_H_

#include <hwy/highway.h>

#include <cstddef>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

// Index of an instruction set in the tables of HWY_EXPORT. The choice is the
// plan's: Highway's own, one for the whole process, is neither read nor
// changed.
inline size_t TargetIndex(SimdTarget target) {
  if constexpr ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0) return 0;
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return chosen.GetIndex();
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_TARGET_INDEX_H_
