// Attention with linear biases (Press et al. 2021).
#ifndef REGARD_SRC_ATTENTION_SCORE_ALIBI_H_
#define REGARD_SRC_ATTENTION_SCORE_ALIBI_H_

#include <cstdint>

namespace regard::inline v0 {

// out[i] = -slope * |position - (key_begin + i)| for i in [0, count), as T
// (float or double). One too large for T becomes the largest finite one: only a
// mask hides a key.
template <typename T>
void LoadAlibi(double slope, int64_t position, int64_t key_begin, int64_t count,
               T* out);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_ALIBI_H_
