// An additive bias, broadcast to [B, Hq, Lq, Lk], in any floating type.
#ifndef REGARD_SRC_ATTENTION_SCORE_BIAS_H_
#define REGARD_SRC_ATTENTION_SCORE_BIAS_H_

#include <cstdint>

#include "regard/tensor.h"

namespace regard::inline v0 {

// out[i] = bias[batch, head, query, key_begin + i] for i in [0, count), as T
// (float or double). A finite value too large for T becomes the largest finite
// one: only an infinity hides a key.
template <typename T>
void LoadBias(const TensorView& bias, int64_t batch, int64_t head,
              int64_t query, int64_t key_begin, int64_t count, T* out);

// Element `head` of a list [Hq] in any floating type.
inline double HeadNumber(const TensorView& list, int64_t head) {
  double number;
  LoadBias(list, 0, 0, 0, head, 1, &number);
  return number;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_BIAS_H_
