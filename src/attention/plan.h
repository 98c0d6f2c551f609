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

struct Plan {
  const Kernel* kernel = nullptr;
  KernelNeeds needs;
  SimdTarget target = 0;
  int threads = 1;
  std::vector<std::string> verdicts;  // one line per kernel of the list

  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> scratch;

  void Run(const Problem& problem, const Outputs& outputs) const;
  std::string Describe() const;
};

// Walks the list of kernels, takes the first that can serve (or the one that
// options.kernel names) and its scratch memory. Error (kArgument) for an
// unknown or refused name, (kMemory) without memory.
Plan MakePlan(const Problem& problem, const AttentionOptions& options,
              const std::string& function);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PLAN_H_
