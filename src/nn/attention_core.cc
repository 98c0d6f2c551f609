#include "nn/attention_core.h"

#include <string>

namespace regard::inline v0 {

TensorView SplitHeads(const Tensor& projected, int64_t batch, int64_t length,
                      int64_t heads) {
  const int64_t width = projected.shape().Back(0);
  const int64_t size = width / heads;
  return {projected.view().data,
          projected.dtype(),
          {batch, heads, length, size},
          {length * width, size, width, 1}};
}

namespace {

// A new tensor and, as `view`, the same memory with the axes that attention
// counts in.
Tensor JoinedOutput(const AttentionProblem& problem, bool batched,
                    MutableTensorView& view) {
  const int64_t batch = problem.q.shape[0], heads = problem.q.shape[1];
  const int64_t length = problem.q.shape[2], size = problem.v.shape[3];
  const int64_t width = heads * size;
  Tensor joined(DType::kF32,
                batched ? Dims{batch, length, width} : Dims{length, width});
  view = MutableTensorView(joined.AsMutable<float>(), DType::kF32,
                           {batch, heads, length, size},
                           {length * width, size, width, 1});
  return joined;
}

Tensor Weights(const AttentionProblem& problem, bool batched, bool single_head,
               MutableTensorView& view) {
  const Dims full = {problem.q.shape[0], problem.q.shape[1], problem.q.shape[2],
                     problem.k.shape[2]};
  Dims shape;
  for (int axis = 0; axis < 4; ++axis) {
    const bool dropped = (axis == 0 && !batched) || (axis == 1 && single_head);
    if (!dropped) shape.push_back(full[axis]);
  }
  Tensor weights(DType::kF32, shape);
  view = MutableTensorView(weights.AsMutable<float>(), full);
  return weights;
}

// Errors of the engine under the name that the caller knows: "AttentionPlan:
// mask" becomes "SelfAttention: mask".
AttentionPlan PlanFor(const char* module, const AttentionProblem& problem,
                      const AttentionOptions& options) {
  try {
    return AttentionPlan(problem, options);
  } catch (const Error& error) {
    const size_t colon = error.subject().find(':');
    throw Error(
        error.kind(),
        module + (colon == std::string::npos ? std::string()
                                             : error.subject().substr(colon)),
        error.reason(), error.hint());
  }
}

}  // namespace

AttentionModuleResult AttendAndJoin(const char* module,
                                    const AttentionProblem& problem,
                                    const AttentionModuleOptions& options,
                                    const TensorView& w_o, bool batched,
                                    bool single_head) {
  AttentionOptions attend;
  attend.threads = options.threads;
  AttentionPlan plan = PlanFor(module, problem, attend);
  AttentionModuleResult result;
  AttentionOutputs outputs;
  result.output = JoinedOutput(problem, batched, outputs.out);
  if (options.need_weights) {
    result.weights = Weights(problem, batched, single_head, outputs.weights);
  }
  plan.Run(problem, outputs);
  if (options.observer != nullptr) {
    options.observer->OnAttention({.layer = options.layer,
                                   .problem = &problem,
                                   .out = outputs.out,
                                   .output_projection = w_o});
  }
  return result;
}

}  // namespace regard::inline v0
