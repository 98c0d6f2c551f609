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

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_FLASH_H_
