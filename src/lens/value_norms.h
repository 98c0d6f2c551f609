// The norm of what a head carries from each key (Kobayashi et al. 2020).
#ifndef REGARD_SRC_LENS_VALUE_NORMS_H_
#define REGARD_SRC_LENS_VALUE_NORMS_H_

#include "regard/tensor.h"

namespace regard::inline v0 {

// ||f^h(x_j)||, [heads, Lk] f32, where f^h(x_j) = W_O^h v_j and W_O^h are the
// columns [h * Dv, (h + 1) * Dv) of `output_projection`.
//
// v: [Hkv, Lk, Dv] f32, any strides (query head h uses kv head
// h / (heads / Hkv)); output_projection: [d_model, heads * Dv] f32, any
// strides, or not given: the norms are ||v_j|| then.
Tensor ValueNorms(const TensorView& v, const TensorView& output_projection,
                  int64_t heads, int threads);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_LENS_VALUE_NORMS_H_
