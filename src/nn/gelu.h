// The GELU on a chosen instruction set.
#ifndef REGARD_SRC_NN_GELU_H_
#define REGARD_SRC_NN_GELU_H_

#include <cstdint>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

// x[i] = x[i] * Phi(x[i]) for i in [0, count).
void GeluOn(SimdTarget target, float* x, int64_t count);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_GELU_H_
