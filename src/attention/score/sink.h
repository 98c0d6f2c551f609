// A learned sink: one more logit in the denominator of a softmax.
#ifndef REGARD_SRC_ATTENTION_SCORE_SINK_H_
#define REGARD_SRC_ATTENTION_SCORE_SINK_H_

#include <cmath>

namespace regard::inline v0 {

// What a sink leaves to the visible keys: sigmoid(lse - sink_logit), exactly 1
// for a sink of -infinity. An empty row is 0 anyway: it gets 1.
inline double ShareBesideSink(double lse, double sink_logit) {
  if (lse == -HUGE_VAL) return 1;
  return 1 / (1 + std::exp(sink_logit - lse));
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_SINK_H_
