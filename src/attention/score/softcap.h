// The definition of the softcap (Gemma 2, 2024, section 2).
#ifndef REGARD_SRC_ATTENTION_SCORE_SOFTCAP_H_
#define REGARD_SRC_ATTENTION_SCORE_SOFTCAP_H_

#include <cmath>

namespace regard::inline v0 {

// Holds scores within (-cap, cap); cap 0 stands for "none".
inline double Softcap(double score, double cap) {
  return cap == 0 ? score : cap * std::tanh(score / cap);
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_SOFTCAP_H_
