// The kernel for short queries, such as the one of a decoded token: reads keys
// and values in place, once per group of query heads.
#ifndef REGARD_SRC_ATTENTION_KERNELS_DECODE_H_
#define REGARD_SRC_ATTENTION_KERNELS_DECODE_H_

#include "attention/kernel_list.h"

namespace regard::inline v0 {

// Up to this query length the plan prefers it: packing keys and values, which
// the other kernels do, costs more than it gains (docs/benchmarking.md). Asked
// by name, it serves any.
inline constexpr int64_t kShortQueryLength = 16;

std::string DecodeRefusal(const KernelRequest& request);
KernelNeeds DecodeNeeds(const KernelRequest& request);
void RunDecode(const Problem& problem, const Outputs& outputs,
               const KernelRun& run);

inline constexpr Kernel kDecodeKernel = {"decode", DecodeRefusal, DecodeNeeds,
                                         RunDecode};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_DECODE_H_
