// Whether strided views share memory.
#ifndef REGARD_SRC_ATTENTION_OVERLAP_H_
#define REGARD_SRC_ATTENTION_OVERLAP_H_

#include "regard/tensor.h"

namespace regard::inline v0 {

// Whether the two views may share a byte. Views whose elements alternate, such
// as the two halves of [B, L, 2 D], are told apart; only exotic interleavings
// are taken for an overlap without being one.
bool MayOverlap(const TensorView& a, const TensorView& b);

// Whether two indexes of the view may lead to the same element.
bool MayOverlapItself(const TensorView& view);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_OVERLAP_H_
