#include "attention/plan.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "attention/kernels/decode.h"
#include "base/aligned_memory.h"
#include "base/checked.h"
#include "base/parallel_for.h"
#include "base/strings.h"

namespace regard::inline v0 {

namespace {

// Waking a thread takes the caller about as long as a few hundred thousand
// multiply-adds; a problem smaller than that per thread is slower with it,
// where no thread is awake from the call before.
constexpr double kMulAddsPerThread = 1 << 18;

int ThreadsFor(double mul_adds, int most) {
  const double useful = std::max(1.0, mul_adds / kMulAddsPerThread);
  return useful < most ? static_cast<int>(useful) : most;
}

void TakeScratch(Plan& plan, const std::string& function) {
  const size_t bytes = plan.scratch_bytes;
  if (bytes == 0) return;
  static_assert(kMemoryAlignment >= kScratchAlignment);
  plan.scratch.reset(static_cast<std::byte*>(AllocateAligned(bytes)));
  if (plan.scratch == nullptr) {
    throw Error(ErrorKind::kMemory, function + ": scratch",
                "no memory for " + std::to_string(bytes) + " bytes",
                "use fewer threads or smaller batches");
  }
}

void RequireKnown(const std::string& kernel, const std::string& function) {
  if (kernel.empty()) return;
  const std::vector<std::string> names = regard::KernelNames();
  if (std::find(names.begin(), names.end(), kernel) != names.end()) return;
  throw Error(ErrorKind::kArgument, function + ": kernel",
              "\"" + kernel + "\" is unknown", "use one of " + Join(names));
}

// All numbers of queries that one kernel may serve.
constexpr IndexRange kAllLengths = {0, std::numeric_limits<int64_t>::max()};
constexpr IndexRange kShortQueries = {0, kShortQueryLength + 1};
constexpr IndexRange kLongQueries = {kShortQueryLength + 1, kAllLengths.end};

// The ranges of query lengths that are planned apart from each other: what
// serves a sequence follows from its own length.
std::vector<IndexRange> RangesOf(const Problem& p, PlanFor size, bool asked) {
  if (asked) return {kAllLengths};
  const IndexRange longest =
      p.query_length <= kShortQueryLength ? kShortQueries : kLongQueries;
  if (!p.query_starts.given() || longest == kShortQueries) return {longest};
  if (size == PlanFor::kProblem &&
      WorkloadOf(p, kShortQueries).sequences == 0) {
    return {longest};
  }
  return {kShortQueries, kLongQueries};
}

// One verdict a kernel, "" where it is chosen.
using Reasons = std::vector<std::string>;

Reasons Choose(KernelRequest& request, const std::string& wanted,
               const std::string& function, Stage& stage) {
  Reasons reasons;
  for (const Kernel& kernel : Kernels()) {
    const std::string name = kernel.name;
    request.asked = wanted == name;
    std::string reason = kernel.refusal(request);
    if (request.asked && !reason.empty()) {
      throw Error(ErrorKind::kArgument, function + ": kernel",
                  name + " can't serve: " + reason,
                  "leave the choice to the plan");
    }
    if (reason.empty() && !request.asked && !wanted.empty()) {
      reason = "not asked for";
    }
    if (reason.empty() && stage.kernel != nullptr) {
      reason = "slower than " + std::string(stage.kernel->name);
    }
    if (reason.empty()) stage.kernel = &kernel;
    reasons.push_back(reason);
  }
  return reasons;
}

// One line a kernel, from what was said of it for each range.
std::vector<std::string> Verdicts(const std::vector<Reasons>& ranges) {
  const std::string limit = std::to_string(kShortQueryLength);
  std::vector<std::string> lines;
  for (size_t i = 0; i < Kernels().size(); ++i) {
    const bool first = ranges.front()[i].empty();
    const bool last = ranges.back()[i].empty();
    std::string verdict = last ? "chosen" : ranges.back()[i];
    if (first && !last) verdict = "chosen for up to " + limit + " queries";
    if (last && !first) verdict = "chosen for more than " + limit + " queries";
    lines.push_back(std::string(Kernels()[i].name) + ": " + verdict);
  }
  return lines;
}

void MakeStages(const Problem& problem, PlanFor size,
                const std::vector<IndexRange>& ranges,
                const AttentionOptions& options, const std::string& function,
                Plan& plan) {
  plan.stages.clear();
  double mul_adds = 0;
  for (const IndexRange& range : ranges) {
    const Workload work = size == PlanFor::kLargest
                              ? LargestWorkloadOf(problem, range)
                              : WorkloadOf(problem, range);
    plan.stages.push_back({nullptr, range, work, {}});
    mul_adds = std::max(mul_adds, work.mul_adds);
  }
  plan.threads = ThreadsFor(mul_adds, ResolveThreads(options.threads));
  std::vector<Reasons> reasons;
  for (Stage& stage : plan.stages) {
    KernelRequest request = {&problem, stage.planned, plan.target,
                             plan.threads};
    reasons.push_back(Choose(request, options.kernel, function, stage));
    stage.needs = stage.kernel->needs(request);
  }
  plan.verdicts = Verdicts(reasons);
}

}  // namespace

void Plan::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

Plan MakePlan(const Problem& problem, PlanFor size,
              const AttentionOptions& options, const std::string& function) {
  CheckThreads(options.threads, function + ": threads");
  RequireKnown(options.kernel, function);
  Plan plan;
  plan.target =
      FindSimdTarget(options.instruction_set, function + ": instruction_set");
  MakeStages(problem, size, RangesOf(problem, size, !options.kernel.empty()),
             options, function, plan);
  if (plan.stages.size() > 1 &&
      plan.stages.front().kernel == plan.stages.back().kernel) {
    MakeStages(problem, size, {kAllLengths}, options, function, plan);
  }
  plan.list_bytes = static_cast<size_t>(
      RoundUp(CheckedMul(SequenceListSize(problem), sizeof(int64_t), "scratch"),
              int64_t{kScratchAlignment}));
  const int64_t keys =
      size == PlanFor::kLargest ? problem.key_capacity : problem.key_length;
  const int64_t pieces = PiecesOf(*problem.mask, problem.query_length, keys);
  plan.index_bytes = static_cast<size_t>(
      RoundUp(CheckedMul(pieces, sizeof(IdRange), "scratch"),
              int64_t{kScratchAlignment}));
  for (const Stage& stage : plan.stages) {
    plan.scratch_bytes =
        std::max(plan.scratch_bytes, stage.needs.scratch_bytes);
  }
  plan.scratch_bytes += plan.list_bytes + plan.index_bytes;
  TakeScratch(plan, function);
  return plan;
}

void Plan::RequireRoom(const Problem& p, const std::string& function) const {
  const auto fail = [&](const char* name, const std::string& reason) {
    throw Error(ErrorKind::kArgument, function + ": " + name, reason,
                "make a plan for it");
  };
  const auto require = [&](const char* name, int64_t count, int64_t planned,
                           const char* what) {
    if (count <= planned) return;
    fail(name, std::to_string(count) + " " + what + " are more than the " +
                   std::to_string(planned) + " of the plan");
  };
  int64_t served = 0;
  for (const Stage& stage : stages) {
    const Workload work = WorkloadOf(p, stage.query_lengths);
    served += work.sequences;
    require("q", work.sequences, stage.planned.sequences, "sequences");
    require("q", work.query_length, stage.planned.query_length, "queries");
    require("k", work.key_length, stage.planned.key_length, "keys");
  }
  if (served != p.sequences) {
    fail("q", "up to " + std::to_string(kShortQueryLength) +
                  " queries and more of them are served by two kernels, of "
                  "which the plan has " +
                  KernelNames());
  }
  if (static_cast<int64_t>(list_bytes / sizeof(int64_t)) <
      SequenceListSize(p)) {
    fail("q", "sequences of different lengths, planned for equal ones");
  }
}

void Plan::Run(const Problem& problem, const Outputs& outputs) const {
  const size_t pieces = problem.documents.growing ? 0 : PiecesOf(*problem.mask);
  // Without room (planned with fewer documents) ids are read one by one.
  if (pieces == 0 || pieces > index_bytes / sizeof(IdRange)) {
    RunStages(problem, outputs);
    return;
  }
  IdRange* index = reinterpret_cast<IdRange*>(scratch.get() + list_bytes);
  FillPieces(*problem.mask, index);
  Problem indexed = problem;
  indexed.documents.pieces = index;
  RunStages(indexed, outputs);
}

void Plan::RunStages(const Problem& p, const Outputs& outputs) const {
  for (const Stage& stage : stages) {
    KernelRun run;
    run.sequences = ListSequences(p, stage.query_lengths,
                                  reinterpret_cast<int64_t*>(scratch.get()));
    if (run.sequences.count == 0) continue;
    run.target = target;
    run.work = WorkloadOf(p, stage.query_lengths);
    run.threads = ThreadsFor(run.work.mul_adds, threads);
    const size_t before = list_bytes + index_bytes;
    run.scratch = scratch.get() + before;
    run.scratch_bytes = static_cast<int64_t>(scratch_bytes - before);
    stage.kernel->run(p, outputs, run);
  }
}

std::string Plan::KernelNames() const {
  std::string names;
  for (const Stage& stage : stages) {
    if (!names.empty()) names += "+";
    names += stage.kernel->name;
  }
  return names;
}

std::string Plan::Describe() const {
  std::vector<std::string> tiles;
  for (const Stage& stage : stages) {
    const std::string name = std::string(stage.kernel->name) + ": ";
    tiles.push_back((stages.size() == 1 ? "" : name) + stage.needs.tiles);
  }
  return Join(verdicts, "\n") +
         "\ninstruction set: " + stages.front().needs.instruction_set +
         "\ntiles: " + Join(tiles, "; ") +
         "\nscratch: " + std::to_string(scratch_bytes) +
         " bytes\nthreads: " + std::to_string(threads) + "\n";
}

}  // namespace regard::inline v0
