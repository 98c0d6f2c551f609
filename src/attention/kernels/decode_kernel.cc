#include "attention/decode_loop.h"
#include "attention/kernels/decode.h"

namespace regard::inline v0 {

namespace {

template <typename T>
DecodeTable<T> TableFor(SimdTarget target) {
  return {*FlashOpsFor<T>(target), *DecodeOpsFor<T>(target)};
}

template <typename T>
KernelNeeds NeedsOf(const KernelRequest& request) {
  const DecodeTable<T> ops = TableFor<T>(request.target);
  const DecodeGeometry<T> geometry(*request.problem, request.work, ops,
                                   request.threads);
  return {static_cast<size_t>(geometry.scratch_bytes),
          std::to_string(geometry.unit_rows) +
              " rows (query heads of a group x queries) x " +
              std::to_string(kKeysPerBlock<T>) + " keys, read in place",
          1, kKeysPerBlock<T>, ops.flash.instruction_set};
}

}  // namespace

std::string DecodeRefusal(const KernelRequest& request) {
  if (DecodeOpsFor<float>(request.target) == nullptr) {
    return "no vectors in instruction set " + SimdTargetName(request.target);
  }
  const int64_t queries = request.work.query_length;
  if (request.asked || queries <= kShortQueryLength) return "";
  return std::to_string(queries) + " queries: from " +
         std::to_string(kShortQueryLength + 1) +
         " on, packed keys and values are faster";
}

KernelNeeds DecodeNeeds(const KernelRequest& request) {
  return request.problem->dtype == DType::kF32 ? NeedsOf<float>(request)
                                               : NeedsOf<double>(request);
}

void RunDecode(const Problem& problem, const Outputs& outputs,
               const KernelRun& run) {
  if (problem.dtype == DType::kF32) {
    RunDecodeLoop(problem, outputs, TableFor<float>(run.target), run);
  } else {
    RunDecodeLoop(problem, outputs, TableFor<double>(run.target), run);
  }
}

}  // namespace regard::inline v0
