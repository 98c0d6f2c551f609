#include "attention/kernels/flash.h"
#include "attention/kernels/flash_ops.h"
#include "attention/tile_loop.h"

namespace regard::inline v0 {

namespace {

template <typename T>
KernelNeeds NeedsOf(const KernelRequest& request) {
  const FlashOps<T>& ops = *FlashOpsFor<T>(request.target);
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
  return request.problem->dtype == DType::kF32 ? NeedsOf<float>(request)
                                               : NeedsOf<double>(request);
}

void RunFlash(const Problem& problem, const Outputs& outputs,
              const KernelRun& run) {
  if (problem.dtype == DType::kF32) {
    RunTileLoop(problem, outputs, *FlashOpsFor<float>(run.target), run);
  } else {
    RunTileLoop(problem, outputs, *FlashOpsFor<double>(run.target), run);
  }
}

}  // namespace regard::inline v0
