// Which of the instruction sets that Highway compiled a function for is used:
// the widest one that REGARD_MAX_ISA allows. Include after foreach_target.h.
#ifndef REGARD_SRC_NN_SIMD_CHOICE_H_
#define REGARD_SRC_NN_SIMD_CHOICE_H_

#include <hwy/highway.h>

#include <cstddef>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

// Found once: asking the processor is slow under virtualisation.
inline SimdTarget WidestSimdTarget() {
  static const SimdTarget widest = UsableSimdTargets().front();
  return widest;
}

// The entry for `target` of a table made by HWY_EXPORT.
template <typename Function, size_t size>
Function FunctionFor(Function const (&table)[size], SimdTarget target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return table[chosen.GetIndex()];
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_SIMD_CHOICE_H_
