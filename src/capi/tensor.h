// Tensors of C as views.
#ifndef REGARD_SRC_CAPI_TENSOR_H_
#define REGARD_SRC_CAPI_TENSOR_H_

#include "attention/array_check.h"
#include "regard/regard_c.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// An optional array: NULL is not given. Error (kArgument) for a type or rank
// that does not exist. Allocates nothing on good input.
MutableTensorView ViewOf(const regard_tensor* tensor, const ArgumentName& name);
// Error (kArgument) for NULL too.
MutableTensorView RequiredViewOf(const regard_tensor* tensor,
                                 const ArgumentName& name);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CAPI_TENSOR_H_
