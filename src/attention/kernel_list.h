// The kernels, best first, and what each has to tell a plan.
#ifndef REGARD_SRC_ATTENTION_KERNEL_LIST_H_
#define REGARD_SRC_ATTENTION_KERNEL_LIST_H_

#include <cstddef>
#include <span>
#include <string>

#include "attention/problem.h"
#include "attention/workload.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

// What a plan asks a kernel about.
struct KernelRequest {
  const Problem* problem = nullptr;
  Workload work;  // sequences that it is to serve, or larger ones
  SimdTarget target = 0;
  int threads = 1;
  bool asked = false;  // by name: what would be slow is no reason to refuse
};

struct KernelNeeds {
  size_t scratch_bytes = 0;
  std::string tiles;                        // for people
  int64_t tile_queries = 1, tile_keys = 1;  // that a mask is asked about
  std::string instruction_set;              // that it really runs on
};

// What a kernel works with.
struct KernelRun {
  SimdTarget target = 0;
  int threads = 1;
  std::byte* scratch = nullptr;  // aligned to kScratchAlignment
  // At least what the kernel's needs were for a workload that is nowhere
  // smaller than these sequences.
  int64_t scratch_bytes = 0;
  SequenceList sequences;
  Workload work;  // of them
};

// A cache line, and the widest vector.
inline constexpr size_t kScratchAlignment = 64;

struct Kernel {
  const char* name;
  // Why it can't serve; "" when it can.
  std::string (*refusal)(const KernelRequest& request);
  KernelNeeds (*needs)(const KernelRequest& request);
  // Writes what `outputs` has of run.sequences. Allocates nothing; throws only
  // what a sink throws.
  void (*run)(const Problem& problem, const Outputs& outputs,
              const KernelRun& run);
};

std::span<const Kernel> Kernels();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNEL_LIST_H_
