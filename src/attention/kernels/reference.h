// Attention as it is defined, in double and plain loops: what every other
// kernel is tested against, and what serves where none of them can.
#ifndef REGARD_SRC_ATTENTION_KERNELS_REFERENCE_H_
#define REGARD_SRC_ATTENTION_KERNELS_REFERENCE_H_

#include "attention/kernel_list.h"

namespace regard::inline v0 {

std::string ReferenceRefusal(const KernelRequest& request);
KernelNeeds ReferenceNeeds(const KernelRequest& request);
void RunReference(const Problem& problem, const Outputs& outputs,
                  const KernelRun& run);

inline constexpr Kernel kReferenceKernel = {"reference", ReferenceRefusal,
                                            ReferenceNeeds, RunReference};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_REFERENCE_H_
