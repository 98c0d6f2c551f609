#include "nn/elementwise.h"

#include <algorithm>

#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"

namespace regard::inline v0 {

namespace {

// 64 KiB of each operand: long against the start of a task (microseconds),
// short enough to share out a small model's state.
constexpr int64_t kBlock = 16384;

}  // namespace

void AddInPlace(Tensor& target, const TensorView& addend, int threads) {
  float* const to = target.AsMutable<float>();
  const float* const from = addend.As<float>();
  const int64_t count = target.NumElements();
  ParallelFor(CeilDiv(count, kBlock), threads, [&](int64_t block, int) {
    const ScopedFloatState float_state;
    const int64_t end = std::min(count, (block + 1) * kBlock);
    for (int64_t i = block * kBlock; i < end; ++i) to[i] += from[i];
  });
}

}  // namespace regard::inline v0
