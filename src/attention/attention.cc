#include "regard/attention.h"

#include <array>
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
  result.out = Tensor(p.q.dtype, with_last(p.value_size));
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
                "type f64, but tiles hold weights in f32",
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
  struct Planned {
    const char* name;
    Dims shape;
    DType dtype;
  };

  Plan plan;
  std::array<Planned, 3> inputs;

  // Error (kArgument) for a shape or type other than the planned one.
  void Require(const Problem& p, const std::string& function) const;
};

void AttentionPlan::State::Require(const Problem& p,
                                   const std::string& function) const {
  const TensorView* const views[] = {&p.q, &p.k, &p.v};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Planned& planned = inputs[i];
    const auto fail = [&](const std::string& difference) {
      throw Error(ErrorKind::kArgument, function + ": " + planned.name,
                  difference, "make a plan for it");
    };
    if (views[i]->shape != planned.shape) {
      fail("shape " + ToString(views[i]->shape) + " is not the planned " +
           ToString(planned.shape));
    }
    if (views[i]->dtype != planned.dtype) {
      fail(std::string("type ") + Name(views[i]->dtype) +
           " is not the planned " + Name(planned.dtype));
    }
  }
}

AttentionPlan::AttentionPlan(const AttentionProblem& problem,
                             const AttentionOptions& options) {
  const ScopedFloatState float_state;
  const Problem p = Check(problem, "AttentionPlan");
  const auto planned = [](const char* name, const TensorView& view) {
    return State::Planned{name, view.shape, view.dtype};
  };
  state_ = std::make_unique<State>(
      State{MakePlan(p, options, "AttentionPlan"),
            {planned("q", p.q), planned("k", p.k), planned("v", p.v)}});
}

AttentionPlan::~AttentionPlan() = default;
AttentionPlan::AttentionPlan(AttentionPlan&&) noexcept = default;
AttentionPlan& AttentionPlan::operator=(AttentionPlan&&) noexcept = default;

void AttentionPlan::Run(const AttentionProblem& problem,
                        const AttentionOutputs& outputs) {
  static const std::string kFunction = "AttentionPlan::Run";
  const ScopedFloatState float_state;
  const Problem p = Check(problem, kFunction);
  state_->Require(p, kFunction);
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
