// What the attention modules share: from projected queries, keys and values to
// the joined output of all heads.
#ifndef REGARD_SRC_NN_ATTENTION_CORE_H_
#define REGARD_SRC_NN_ATTENTION_CORE_H_

#include <cstdint>

#include "regard/nn.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// [B * L, heads * size] (contiguous, any leading axes) as [B, heads, L, size].
TensorView SplitHeads(const Tensor& projected, int64_t batch, int64_t length,
                      int64_t heads);

// Runs the problem, joins the heads and tells the observer. Errors name
// `module`. `w_o`: the output
// projection that will follow, or not given. `batched`: whether results have
// the axis B: output [B, Lq, Hq * Dv], weights (on request) [B, Hq, Lq, Lk],
// without Hq when `single_head`.
AttentionModuleResult AttendAndJoin(const char* module,
                                    const AttentionProblem& problem,
                                    const AttentionModuleOptions& options,
                                    const TensorView& w_o, bool batched,
                                    bool single_head);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_ATTENTION_CORE_H_
