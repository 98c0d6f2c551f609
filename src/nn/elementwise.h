// Sums over whole arrays.
#ifndef REGARD_SRC_NN_ELEMENTWISE_H_
#define REGARD_SRC_NN_ELEMENTWISE_H_

#include "regard/tensor.h"

namespace regard::inline v0 {

// target += addend; the same number of elements, both contiguous f32.
void AddInPlace(Tensor& target, const TensorView& addend, int threads);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_ELEMENTWISE_H_
