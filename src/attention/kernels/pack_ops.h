// What packing asks of an instruction set.
#ifndef REGARD_SRC_ATTENTION_KERNELS_PACK_OPS_H_
#define REGARD_SRC_ATTENTION_KERNELS_PACK_OPS_H_

#include <cstdint>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

// Rows that are turned into columns together: a 128-bit block of each.
template <typename T>
inline constexpr int64_t kTransposedRows = 16 / sizeof(T);

struct PackOps {
  // to[c * step + r] = rows[r][c] for kTransposedRows rows of `count`.
  void (*columns_f32)(const float* const* rows, int64_t count, float* to,
                      int64_t step);
  void (*columns_f64)(const double* const* rows, int64_t count, double* to,
                      int64_t step);
  // to[i] = from[i] for i in [0, count): exact. Not to be called where
  // subnormal numbers are flushed to 0.
  void (*from_bf16)(const uint16_t* from, int64_t count, float* to);
  void (*from_f16)(const uint16_t* from, int64_t count, float* to);
  // The bits of first[i] and, above them, second[i] in to[i].
  void (*pairs)(const uint16_t* first, const uint16_t* second, int64_t count,
                float* to);
};

// nullptr where the instruction set has no vectors (SCALAR, EMU128).
const PackOps* PackOpsFor(SimdTarget target);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_PACK_OPS_H_
