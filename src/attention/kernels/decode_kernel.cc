#include "attention/decode_loop.h"
#include "attention/kernels/decode.h"
#include "attention/kernels/flash.h"

namespace regard::inline v0 {

namespace {

template <typename T>
DecodeTable<T> TableFor(SimdTarget target) {
  return {*FlashOpsFor<T>(target), *DecodeOpsFor<T>(target)};
}

DecodeTable<float> TableForBF16(SimdTarget target) {
  return {*FlashBF16OpsFor(target), *DecodeBF16OpsFor(target)};
}

template <typename T>
KernelNeeds NeedsOf(const KernelRequest& request, const DecodeTable<T>& ops) {
  const DecodeGeometry<T> geometry(*request.problem, request.work, ops,
                                   request.threads);
  return {static_cast<size_t>(geometry.scratch_bytes),
          std::to_string(geometry.unit_rows) +
              " rows (query heads of a group x queries) x " +
              std::to_string(kKeysPerBlock<T>) + " keys, read in place",
          1, kKeysPerBlock<T>, ops.flash.instruction_set};
}

// What is said of long queries, unless the kernel was asked for.
std::string TooLong(const KernelRequest& request) {
  const int64_t queries = request.work.query_length;
  if (request.asked || queries <= kShortQueryLength) return "";
  return std::to_string(queries) + " queries: from " +
         std::to_string(kShortQueryLength + 1) +
         " on, packed keys and values are faster";
}

}  // namespace

std::string DecodeRefusal(const KernelRequest& request) {
  if (DecodeOpsFor<float>(request.target) == nullptr) {
    return "no vectors in instruction set " + SimdTargetName(request.target);
  }
  return TooLong(request);
}

KernelNeeds DecodeNeeds(const KernelRequest& request) {
  return request.problem->dtype == DType::kF32
             ? NeedsOf(request, TableFor<float>(request.target))
             : NeedsOf(request, TableFor<double>(request.target));
}

void RunDecode(const Problem& problem, const Outputs& outputs,
               const KernelRun& run) {
  if (problem.dtype == DType::kF32) {
    RunDecodeLoop(problem, outputs, TableFor<float>(run.target), run);
  } else {
    RunDecodeLoop(problem, outputs, TableFor<double>(run.target), run);
  }
}

std::string DecodeBF16Refusal(const KernelRequest& request) {
  const std::string reason = FlashBF16Refusal(request);
  return reason.empty() ? TooLong(request) : reason;
}

KernelNeeds DecodeBF16Needs(const KernelRequest& request) {
  return NeedsOf(request, TableForBF16(request.target));
}

void RunDecodeBF16(const Problem& problem, const Outputs& outputs,
                   const KernelRun& run) {
  RunDecodeLoop(problem, outputs, TableForBF16(run.target), run);
}

}  // namespace regard::inline v0
