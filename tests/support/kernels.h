// Every way in which this machine can compute attention.
#ifndef REGARD_TESTS_SUPPORT_KERNELS_H_
#define REGARD_TESTS_SUPPORT_KERNELS_H_

#include <ostream>
#include <string>
#include <vector>

#include "regard/attention.h"

namespace regard::inline v0 {

struct KernelOnTarget {
  std::string kernel, instruction_set;
  std::string Name() const { return kernel + "_" + instruction_set; }
};

inline void PrintTo(const KernelOnTarget& one, std::ostream* stream) {
  *stream << one.Name();
}

inline AttentionOptions OptionsFor(const KernelOnTarget& one, int threads = 1) {
  AttentionOptions options;
  options.kernel = one.kernel;
  options.instruction_set = one.instruction_set;
  options.threads = threads;
  options.lse = options.weights = true;
  return options;
}

// Whether an instruction set is more than plain loops: all but the fallback,
// which aarch64 does without.
inline bool HasVectors(const std::string& instruction_set) {
  return instruction_set != "SCALAR" && instruction_set != "EMU128";
}

// The type that a kernel serves, where it serves one alone: else f32.
inline DType TypeFor(const std::string& kernel) {
  const bool bf16 = kernel == "flash_bf16" || kernel == "decode_bf16";
  return bf16 ? DType::kBF16 : DType::kF32;
}

// The kernels of the list on every instruction set that they serve for q, k and
// v of a type. The reference has no instruction set of its own: it comes once.
inline std::vector<KernelOnTarget> AllKernels(DType dtype = DType::kF32) {
  const Tensor one(dtype, {1, 1, 1, 1});
  AttentionProblem problem;
  problem.q = problem.k = problem.v = one;
  std::vector<KernelOnTarget> all;
  for (const std::string& kernel : KernelNames()) {
    for (const std::string& isa : UsableInstructionSets()) {
      try {
        const AttentionPlan plan(problem, OptionsFor({kernel, isa}));
        if (plan.instruction_set() == isa) all.push_back({kernel, isa});
      } catch (const Error&) {
        continue;  // refused, by name: see plan_test.cc
      }
    }
  }
  return all;
}

// Those for f32, and those that serve another type alone.
inline std::vector<KernelOnTarget> KernelsOfAnyType() {
  std::vector<KernelOnTarget> all = AllKernels();
  for (const KernelOnTarget& one : AllKernels(DType::kBF16)) {
    if (TypeFor(one.kernel) == DType::kBF16) all.push_back(one);
  }
  return all;
}

// The kernels that serve on the widest usable instruction set, by name.
inline std::vector<std::string> UsableKernels() {
  std::vector<std::string> names;
  for (const KernelOnTarget& one : AllKernels()) {
    if (names.empty() || names.back() != one.kernel) {
      names.push_back(one.kernel);
    }
  }
  return names;
}

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_KERNELS_H_
