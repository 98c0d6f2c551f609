#include "regard/attention.h"

#include <utility>

#include "attention/check.h"
#include "attention/plan.h"
#include "attention/tile_count.h"
#include "base/float_state.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

AttentionResult Attend(const AttentionProblem& problem,
                       const AttentionOptions& options) {
  const ScopedFloatState float_state;
  const Problem p = Check(problem, "Attend");
  const Plan plan = MakePlan(p, options, "Attend");
  const Dims rows = {p.sequences, p.query_heads, p.query_length};
  const auto with_last = [&](int64_t size) {
    Dims shape = rows;
    shape.push_back(size);
    return shape;
  };
  AttentionResult result;
  result.out = Tensor(p.dtype, with_last(p.value_size));
  if (options.lse) result.lse = Tensor(p.dtype, rows);
  if (options.weights) {
    result.weights = Tensor(p.dtype, with_last(p.key_length));
  }
  Outputs outputs;
  outputs.out = result.out.mutable_view();
  if (options.lse) outputs.lse = result.lse.mutable_view();
  if (options.weights) outputs.weights = result.weights.mutable_view();
  plan.Run(p, outputs);
  return result;
}

void ForEachWeightTile(const AttentionProblem& problem,
                       const AttentionOptions& options,
                       const std::function<void(const WeightTile&)>& sink) {
  const ScopedFloatState float_state;
  const Problem p = Check(problem, "ForEachWeightTile");
  if (p.dtype != DType::kF32) {
    throw Error(ErrorKind::kUnsupported, "ForEachWeightTile: q",
                std::string("type ") + Name(p.dtype) + " is not f32",
                "convert q, k and v to f32, or ask Attend for weights");
  }
  if (!sink) {
    throw Error(ErrorKind::kArgument, "ForEachWeightTile: sink",
                "no function is given");
  }
  const Plan plan = MakePlan(p, options, "ForEachWeightTile");
  Outputs outputs;
  outputs.sink = &sink;
  plan.Run(p, outputs);
}

// What a plan remembers of the problem it was made for.
struct AttentionPlan::State {
  Plan plan;
  Dims q, k, v;
  DType dtype;
};

AttentionPlan::AttentionPlan(const AttentionProblem& problem,
                             const AttentionOptions& options) {
  const ScopedFloatState float_state;
  const Problem p = Check(problem, "AttentionPlan");
  state_ =
      std::make_unique<State>(State{MakePlan(p, options, "AttentionPlan"),
                                    p.q.shape, p.k.shape, p.v.shape, p.dtype});
}

AttentionPlan::~AttentionPlan() = default;
AttentionPlan::AttentionPlan(AttentionPlan&&) noexcept = default;
AttentionPlan& AttentionPlan::operator=(AttentionPlan&&) noexcept = default;

void AttentionPlan::Run(const AttentionProblem& problem,
                        const AttentionOutputs& outputs) {
  static const std::string kFunction = "AttentionPlan::Run";
  const ScopedFloatState float_state;
  const Problem p = Check(problem, kFunction);
  const auto require_planned = [](const char* name, const TensorView& view,
                                  const Dims& planned) {
    if (view.shape == planned) return;
    throw Error(ErrorKind::kArgument, kFunction + ": " + name,
                "shape " + ToString(view.shape) + " is not the planned " +
                    ToString(planned),
                "make a plan for it");
  };
  require_planned("q", p.q, state_->q);
  require_planned("k", p.k, state_->k);
  require_planned("v", p.v, state_->v);
  if (p.dtype != state_->dtype) {
    throw Error(ErrorKind::kArgument, kFunction + ": q",
                std::string("type ") + Name(p.dtype) + " is not the planned " +
                    Name(state_->dtype),
                "make a plan for it");
  }
  state_->plan.Run(p, CheckOutputs(problem, p, outputs, kFunction));
}

TileCounts AttentionPlan::CountTiles(const AttentionProblem& problem) const {
  const KernelNeeds& needs = state_->plan.needs;
  return regard::CountTiles(Check(problem, "AttentionPlan::CountTiles"),
                            needs.tile_queries, needs.tile_keys);
}

const std::string& AttentionPlan::instruction_set() const {
  return state_->plan.needs.instruction_set;
}

std::string AttentionPlan::kernel() const { return state_->plan.kernel->name; }

size_t AttentionPlan::scratch_bytes() const {
  return state_->plan.needs.scratch_bytes;
}

std::string AttentionPlan::Describe() const { return state_->plan.Describe(); }

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const Kernel& kernel : Kernels()) names.emplace_back(kernel.name);
  return names;
}

namespace {

std::vector<std::string> Names(const std::vector<SimdTarget>& targets) {
  std::vector<std::string> names;
  for (const SimdTarget target : targets) {
    names.push_back(SimdTargetName(target));
  }
  return names;
}

}  // namespace

std::vector<std::string> BuiltInstructionSets() {
  return Names(BuiltSimdTargets());
}

std::vector<std::string> UsableInstructionSets() {
  return Names(UsableSimdTargets());
}

}  // namespace regard::inline v0
