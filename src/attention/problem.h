// A problem that has passed Check: what plans and kernels work on.
#ifndef REGARD_SRC_ATTENTION_PROBLEM_H_
#define REGARD_SRC_ATTENTION_PROBLEM_H_

#include <cstdint>
#include <functional>

#include "attention/mask/mask_set.h"
#include "regard/attention.h"

namespace regard::inline v0 {

// Every size is >= 0, every address computed from sizes and strides fits 64
// bits, every option has its value. Refers to the caller's memory and mask.
struct Problem {
  DType dtype = DType::kF32;  // of q, k, v and out: f32 or f64
  int64_t batch = 0;
  int64_t query_heads = 0, kv_heads = 0;
  int64_t query_length = 0, key_length = 0;
  int64_t head_size = 0, value_size = 0;
  TensorView q, k, v;  // [B, Hq, Lq, D], [B, Hkv, Lk, D], [B, Hkv, Lk, Dv]
  TensorView bias;     // rank 0 to 4, or not given
  TensorView alibi_slopes, sink_logit;  // [Hq], or not given
  double scale = 1;
  double softcap = 0;  // 0: none
  const Mask* mask = nullptr;
  QueryOffset offset;

  // Query heads per kv head.
  int64_t group() const { return kv_heads == 0 ? 0 : query_heads / kv_heads; }
  // The mask as seen by one query head.
  MaskSet MaskOf(int64_t batch_index, int64_t head) const;
};

// Where a kernel writes; checked like the problem.
struct Outputs {
  MutableTensorView out, lse, weights;  // each may be absent
  const std::function<void(const WeightTile&)>* sink = nullptr;

  bool wants_weights() const { return weights.given() || sink != nullptr; }
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PROBLEM_H_
