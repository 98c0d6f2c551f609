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

// The same with both products in bf16, by the dot product of an instruction set
// (kAvx3Bf16): for q, k and v in bf16, as flash_bf16.
std::string DecodeBF16Refusal(const KernelRequest& request);
KernelNeeds DecodeBF16Needs(const KernelRequest& request);
void RunDecodeBF16(const Problem& problem, const Outputs& outputs,
                   const KernelRun& run);

inline constexpr Kernel kDecodeBF16Kernel = {"decode_bf16", DecodeBF16Refusal,
                                             DecodeBF16Needs, RunDecodeBF16};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_DECODE_H_
