// What packing asks of an instruction set.
#ifndef REGARD_SRC_ATTENTION_KERNELS_PACK_OPS_H_
#define REGARD_SRC_ATTENTION_KERNELS_PACK_OPS_H_

#include <cstdint>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

// The most rows that are turned into columns together: as many as the widest
// vector has elements.
template <typename T>
inline constexpr int64_t kMostPackedRows = 64 / sizeof(T);

// Where values go, in panels of `panel` columns: column c of row r to
// to[(c / panel) * panel_step + (first_row + r) * width + c % panel], where
// `width` are the columns of its panel. Columns from `columns` to `padded`,
// whole vectors, become 0.
struct ValuePanels {
  int64_t columns, padded, panel, panel_step, first_row;
};

template <typename T>
struct PackOps {
  int64_t lanes;  // of a vector
  // to[c * step + r] = factor * rows[r][c] for `lanes` rows of `count` and r <
  // width. A column is written as a whole vector, before the next one is: width
  // <= lanes <= width + step. A factor of 1 leaves the bits as they are.
  void (*columns)(const T* const* rows, int64_t count, int64_t width, T factor,
                  T* to, int64_t step);
  // Copies `count` rows; nullptr is a row of 0. Returns whether all is
  // ordinary, as ValueClass (pack.h) says.
  bool (*values)(const T* const* rows, int64_t count, const ValuePanels& panels,
                 T* to);
  // Of float. to[i] = from[i] for i in [0, count): exact. Not to be called
  // where subnormal numbers are flushed to 0.
  void (*from_bf16)(const uint16_t* from, int64_t count, T* to);
  void (*from_f16)(const uint16_t* from, int64_t count, T* to);
  // As `values`, on bf16, in pairs: rows r and r + 1 in place of row r / 2.
  // first_row is even.
  bool (*pair_values)(const uint16_t* const* rows, int64_t count,
                      const ValuePanels& panels, T* to);
};

// nullptr where the instruction set has no vectors (SCALAR, EMU128).
template <typename T>
const PackOps<T>* PackOpsFor(SimdTarget target);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_PACK_OPS_H_
