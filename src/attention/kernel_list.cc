#include "attention/kernel_list.h"

#include "attention/kernels/decode.h"
#include "attention/kernels/flash.h"
#include "attention/kernels/reference.h"

namespace regard::inline v0 {

std::span<const Kernel> Kernels() {
  static constexpr Kernel kKernels[] = {kDecodeBF16Kernel, kDecodeKernel,
                                        kFlashBF16Kernel, kFlashKernel,
                                        kReferenceKernel};
  return kKernels;
}

}  // namespace regard::inline v0
