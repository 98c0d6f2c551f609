#include <utility>

#include "attention/kernels/flash.h"
#include "attention/kernels/flash_ops.h"
#include "attention/tile_loop.h"
#include "attention/tile_memory.h"

namespace regard::inline v0 {

namespace {

template <typename T>
KernelNeeds NeedsOf(const KernelRequest& request, const FlashOps<T>& ops) {
  const TileGeometry<T> geometry(*request.problem, request.work, ops,
                                 request.threads);
  return {static_cast<size_t>(geometry.scratch_bytes),
          std::to_string(geometry.block_queries) + " queries (strips of " +
              std::to_string(ops.strip_rows) + ") x " +
              std::to_string(kKeysPerBlock<T>) + " keys (panels of " +
              std::to_string(ops.panel) + ")",
          ops.strip_rows, kKeysPerBlock<T>, ops.instruction_set};
}

}  // namespace

std::string FlashRefusal(const KernelRequest& request) {
  if (FlashOpsFor<float>(request.target) != nullptr) return "";
  return "no vectors in instruction set " + SimdTargetName(request.target);
}

KernelNeeds FlashNeeds(const KernelRequest& request) {
  return request.problem->dtype == DType::kF32
             ? NeedsOf(request, *FlashOpsFor<float>(request.target))
             : NeedsOf(request, *FlashOpsFor<double>(request.target));
}

void RunFlash(const Problem& problem, const Outputs& outputs,
              const KernelRun& run) {
  if (problem.dtype == DType::kF32) {
    RunTileLoop(problem, outputs, *FlashOpsFor<float>(run.target), run);
  } else {
    RunTileLoop(problem, outputs, *FlashOpsFor<double>(run.target), run);
  }
}

std::string FlashBF16Refusal(const KernelRequest& request) {
  const Problem& p = *request.problem;
  const std::pair<const char*, DType> inputs[] = {
      {"q", p.q.dtype}, {"k", p.k.dtype}, {"v", p.v.dtype}};
  for (const auto& [name, dtype] : inputs) {
    if (dtype == DType::kBF16) continue;
    return std::string(name) + " is " + Name(dtype) + ", not bf16";
  }
  if (FlashBF16OpsFor(request.target) != nullptr) return "";
  return "no dot product of bf16 in instruction set " +
         SimdTargetName(request.target);
}

KernelNeeds FlashBF16Needs(const KernelRequest& request) {
  return NeedsOf(request, *FlashBF16OpsFor(request.target));
}

void RunFlashBF16(const Problem& problem, const Outputs& outputs,
                  const KernelRun& run) {
  RunTileLoop(problem, outputs, *FlashBF16OpsFor(run.target), run);
}

}  // namespace regard::inline v0
