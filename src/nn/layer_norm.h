// Layer normalisation of rows on a chosen instruction set.
#ifndef REGARD_SRC_NN_LAYER_NORM_H_
#define REGARD_SRC_NN_LAYER_NORM_H_

#include <cstdint>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

// out = (x - mean) / sqrt(variance + eps) * gain + bias for one row.
struct LayerNormRow {
  const float* x;     // [size]
  const float* gain;  // [size]
  const float* bias;  // [size]
  float* out;         // [size]
  int64_t size;
  double eps;
};
void LayerNormOn(SimdTarget target, const LayerNormRow& row);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_LAYER_NORM_H_
