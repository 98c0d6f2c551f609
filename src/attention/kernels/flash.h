// The tiled online-softmax kernel (Milakov & Gimelshein 2018; Dao et al. 2022):
// exact attention in memory linear in the length.
#ifndef REGARD_SRC_ATTENTION_KERNELS_FLASH_H_
#define REGARD_SRC_ATTENTION_KERNELS_FLASH_H_

#include "attention/kernel_list.h"

namespace regard::inline v0 {

std::string FlashRefusal(const KernelRequest& request);
KernelNeeds FlashNeeds(const KernelRequest& request);
void RunFlash(const Problem& problem, const Outputs& outputs,
              const KernelRun& run);

inline constexpr Kernel kFlashKernel = {"flash", FlashRefusal, FlashNeeds,
                                        RunFlash};

// The same with both products in bf16, by the dot product of an instruction set
// (kAvx3Bf16): for q, k and v in bf16. Scores, softmax and sums are f32; the
// weights are rounded for the product with v, not for their sum.
std::string FlashBF16Refusal(const KernelRequest& request);
KernelNeeds FlashBF16Needs(const KernelRequest& request);
void RunFlashBF16(const Problem& problem, const Outputs& outputs,
                  const KernelRun& run);

inline constexpr Kernel kFlashBF16Kernel = {"flash_bf16", FlashBF16Refusal,
                                            FlashBF16Needs, RunFlashBF16};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_FLASH_H_
