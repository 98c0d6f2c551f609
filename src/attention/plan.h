// The choice of kernel for one problem, its reasons and its memory.
#ifndef REGARD_SRC_ATTENTION_PLAN_H_
#define REGARD_SRC_ATTENTION_PLAN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "attention/kernel_list.h"
#include "attention/problem.h"

namespace regard::inline v0 {

// A kernel and the sequences it serves: those whose number of queries lies in a
// range.
struct Stage {
  const Kernel* kernel = nullptr;
  IndexRange query_lengths;
  Workload planned;
  KernelNeeds needs;
};

struct Plan {
  // One, or one for short and one for long queries where sequences are packed.
  std::vector<Stage> stages;
  SimdTarget target = 0;
  int threads = 1;
  std::vector<std::string> verdicts;  // one line per kernel of the list
  size_t list_bytes = 0;              // of scratch, for the list of sequences
  size_t index_bytes = 0;             // behind it, for ids of documents
  size_t scratch_bytes = 0;

  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> scratch;

  // Error (kArgument) where a problem is larger than the plan.
  void RequireRoom(const Problem& problem, const std::string& function) const;
  void Run(const Problem& problem, const Outputs& outputs) const;
  // The kernels of the stages: "decode", "decode+flash".
  std::string KernelNames() const;
  std::string Describe() const;

 private:
  void RunStages(const Problem& problem, const Outputs& outputs) const;
};

// What a plan has to be good for.
enum class PlanFor {
  kProblem,  // this one
  kLargest,  // whatever its storage can hold
};

// Walks the list of kernels, takes the first that can serve (or the one that
// options.kernel names), for short and long queries each, and the scratch
// memory. Error (kArgument) for an
// unknown or refused name, (kMemory) without memory.
Plan MakePlan(const Problem& problem, PlanFor size,
              const AttentionOptions& options, const std::string& function);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PLAN_H_
