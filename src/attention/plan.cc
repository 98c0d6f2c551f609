#include "attention/plan.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "base/parallel_for.h"
#include "base/strings.h"

namespace regard::inline v0 {

namespace {

// Waking a thread costs about as long as a million multiply-adds take; a
// problem smaller than that per thread is slower with it.
constexpr double kMulAddsPerThread = 1 << 20;

int ThreadsFor(const Problem& p, int requested) {
  const double mul_adds =
      static_cast<double>(p.sequences) * static_cast<double>(p.query_heads) *
      static_cast<double>(p.query_length) * static_cast<double>(p.key_length) *
      static_cast<double>(p.head_size + p.value_size);
  const double useful = std::max(1.0, mul_adds / kMulAddsPerThread);
  const int threads = ResolveThreads(requested);
  return useful < threads ? static_cast<int>(useful) : threads;
}

void TakeScratch(Plan& plan, const std::string& function) {
  const size_t bytes = plan.needs.scratch_bytes;
  if (bytes == 0) return;
  const size_t rounded = static_cast<size_t>(
      RoundUp(static_cast<int64_t>(bytes), int64_t{kScratchAlignment}));
  plan.scratch.reset(
      static_cast<std::byte*>(std::aligned_alloc(kScratchAlignment, rounded)));
  if (plan.scratch == nullptr) {
    throw Error(ErrorKind::kMemory, function + ": scratch",
                "no memory for " + std::to_string(bytes) + " bytes",
                "use fewer threads or smaller batches");
  }
}

void RequireKnown(const std::string& kernel, const std::string& function) {
  if (kernel.empty()) return;
  const std::vector<std::string> names = KernelNames();
  if (std::find(names.begin(), names.end(), kernel) != names.end()) return;
  throw Error(ErrorKind::kArgument, function + ": kernel",
              "\"" + kernel + "\" is unknown", "use one of " + Join(names));
}

}  // namespace

void Plan::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

Plan MakePlan(const Problem& problem, const AttentionOptions& options,
              const std::string& function) {
  RequireKnown(options.kernel, function);
  Plan plan;
  plan.target =
      FindSimdTarget(options.instruction_set, function + ": instruction_set");
  plan.threads = ThreadsFor(problem, options.threads);
  KernelRequest request = {&problem, plan.target, plan.threads};
  for (const Kernel& kernel : Kernels()) {
    const std::string name = kernel.name;
    const bool asked = options.kernel == name;
    request.asked = asked;
    std::string reason = kernel.refusal(request);
    if (asked && !reason.empty()) {
      throw Error(ErrorKind::kArgument, function + ": kernel",
                  name + " can't serve: " + reason,
                  "leave the choice to the plan");
    }
    if (reason.empty() && !asked && !options.kernel.empty()) {
      reason = "not asked for";
    }
    if (reason.empty() && plan.kernel != nullptr) {
      reason = "slower than " + std::string(plan.kernel->name);
    }
    if (reason.empty()) plan.kernel = &kernel;
    plan.verdicts.push_back(name + ": " + (reason.empty() ? "chosen" : reason));
  }
  plan.needs = plan.kernel->needs(request);
  TakeScratch(plan, function);
  return plan;
}

void Plan::Run(const Problem& problem, const Outputs& outputs) const {
  kernel->run(problem, outputs, {target, threads, scratch.get()});
}

std::string Plan::Describe() const {
  return Join(verdicts, "\n") + "\ninstruction set: " + needs.instruction_set +
         "\ntiles: " + needs.tiles +
         "\nscratch: " + std::to_string(needs.scratch_bytes) +
         " bytes\nthreads: " + std::to_string(threads) + "\n";
}

}  // namespace regard::inline v0
