// One problem under every mask and with everything else that scores can have,
// for tests of what has to hold for all of them.
#ifndef REGARD_TESTS_SUPPORT_EVERY_MASK_H_
#define REGARD_TESTS_SUPPORT_EVERY_MASK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/attention.h"

namespace regard::inline v0 {

// "full", "causal", ..., "bias", "softcap", ..., "all".
const std::vector<std::string>& EveryMask();

// Arrays for two batch entries and four heads on two, whose masks and biases
// differ from entry to entry; several query blocks and key blocks, and work
// enough for eight threads.
class EveryMaskArrays {
 public:
  explicit EveryMaskArrays(DType dtype);

  // The problem of the batch entries [begin, end) under that mask. Views of the
  // arrays: q, k and v are as they lie, [B, H, L, D].
  AttentionProblem Problem(const std::string& mask, int64_t begin = 0,
                           int64_t end = 2) const;

  // Copies of q, k, v, bias and the boolean mask that lie otherwise: [B, L, H,
  // D] with gaps behind rows and every second number.
  EveryMaskArrays Rearranged() const;

  static constexpr int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kQueries = 70,
                           kKeys = 530;

 private:
  EveryMaskArrays() = default;

  std::vector<Tensor> owners_;
  TensorView q_, k_, v_, bias_, boolean_, bits_, layout_, query_ids_, key_ids_,
      slopes_, sinks_;
};

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_EVERY_MASK_H_
