#include "regard/attention.h"

#include <array>
#include <utility>
#include <vector>

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
  const Plan plan = MakePlan(p, PlanFor::kProblem, options, "Attend");
  const Dims rows = {p.q.shape[0], p.query_heads, p.q.shape[2]};
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

void AttendInto(const AttentionProblem& problem,
                const AttentionOutputs& outputs,
                const AttentionOptions& options) {
  static const std::string kFunction = "AttendInto";
  const ScopedFloatState float_state;
  const Problem p = Check(problem, kFunction);
  const Outputs checked = CheckOutputs(problem, p, outputs, kFunction);
  MakePlan(p, PlanFor::kProblem, options, kFunction).Run(p, checked);
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
  const Plan plan =
      MakePlan(p, PlanFor::kProblem, options, "ForEachWeightTile");
  Outputs outputs;
  outputs.sink = &sink;
  plan.Run(p, outputs);
}

// What a plan remembers of the problem it was made for.
struct AttentionPlan::State {
  struct Input {
    const char* name;
    DType dtype;
    int64_t heads, size;
  };
  using Inputs = std::array<Input, 3>;

  Plan plan;
  Inputs inputs;

  static Inputs InputsOf(const Problem& p) {
    return {{{"q", p.q.dtype, p.query_heads, p.head_size},
             {"k", p.k.dtype, p.kv_heads, p.head_size},
             {"v", p.v.dtype, p.kv_heads, p.value_size}}};
  }
  // Error (kArgument) for another type, or what the plan has no room for.
  void Require(const Problem& p, const std::string& function) const;
};

void AttentionPlan::State::Require(const Problem& p,
                                   const std::string& function) const {
  const Inputs given = InputsOf(p);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& planned = inputs[i];
    const auto fail = [&](const std::string& difference) {
      throw Error(ErrorKind::kArgument, function + ": " + planned.name,
                  difference, "make a plan for it");
    };
    if (given[i].dtype != planned.dtype) {
      fail(std::string("type ") + Name(given[i].dtype) +
           " is not the planned " + Name(planned.dtype));
    }
    if (given[i].heads != planned.heads || given[i].size != planned.size) {
      fail(std::to_string(given[i].heads) + " heads of size " +
           std::to_string(given[i].size) + " are not the planned " +
           std::to_string(planned.heads) + " of size " +
           std::to_string(planned.size));
    }
  }
  plan.RequireRoom(p, function);
}

AttentionPlan::AttentionPlan(const AttentionProblem& problem,
                             const AttentionOptions& options) {
  const ScopedFloatState float_state;
  const Problem p = Check(problem, "AttentionPlan");
  state_ = std::make_unique<State>(
      State{MakePlan(p, PlanFor::kLargest, options, "AttentionPlan"),
            State::InputsOf(p)});
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
  Problem p = Check(problem, "AttentionPlan::CountTiles");
  std::vector<IdRange> pieces;
  if (!p.documents.growing) {
    pieces.resize(static_cast<size_t>(PiecesOf(problem.mask)));
    FillPieces(problem.mask, pieces.data());
    p.documents.pieces = pieces.data();
  }
  TileCounts counts;
  for (const Stage& stage : state_->plan.stages) {
    regard::CountTiles(p, stage.query_lengths, stage.needs.tile_queries,
                       stage.needs.tile_keys, counts);
  }
  return counts;
}

const std::string& AttentionPlan::instruction_set() const {
  return state_->plan.stages.front().needs.instruction_set;
}

std::string AttentionPlan::kernel() const { return state_->plan.KernelNames(); }

size_t AttentionPlan::scratch_bytes() const {
  return state_->plan.scratch_bytes;
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
