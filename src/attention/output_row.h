// Rows of what is written, as every loop hands them over.
#ifndef REGARD_SRC_ATTENTION_OUTPUT_ROW_H_
#define REGARD_SRC_ATTENTION_OUTPUT_ROW_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/kernels/flash_ops.h"
#include "attention/problem.h"

namespace regard::inline v0 {

// A row of the output `to` [B, Hq, Lq, Dv], rounded to its type, which may be
// any floating one. T is float or double.
template <typename T>
void StoreOutRow(const MutableTensorView& to, const OutputRow& row,
                 const T* values);

// Turns `count` scores of a row, -infinity where hidden, into weights: by the
// maximum and the sum of the whole row, times the share that a learned sink
// leaves. `visible` is memory for `count` flags.
template <typename T>
void WeightsFromScores(const FlashOps<T>& ops, T* s, int64_t count,
                       T log2_scale, T max, T sum, T share, uint8_t* visible) {
  // In a row of NaN, too, a hidden key has weight 0, not 0 / NaN.
  const bool nan = std::isnan(sum) || std::isnan(share);
  for (int64_t i = 0; nan && i < count; ++i) {
    visible[i] = s[i] != -std::numeric_limits<T>::infinity();
  }
  ops.weights(s, count, log2_scale, max, sum);
  for (int64_t i = 0; share != 1 && i < count; ++i) s[i] *= share;
  for (int64_t i = 0; nan && i < count; ++i) {
    if (visible[i] == 0) s[i] = 0;
  }
}

// A row of the weights output `to` [B, Hq, Lq, Lk]: all 0.
template <typename T>
void ClearWeightsRow(const MutableTensorView& to, const OutputRow& row) {
  T* at = row.In<T>(to);
  for (int64_t k = 0; k < to.shape[3]; ++k) at[k * to.strides[3]] = 0;
}

// The same row: the weights of the keys [begin, end).
template <typename T>
void StoreWeightsRow(const MutableTensorView& to, const OutputRow& row,
                     int64_t begin, int64_t end, const T* weights) {
  T* at = row.In<T>(to);
  for (int64_t k = begin; k < end; ++k) {
    at[k * to.strides[3]] = weights[k - begin];
  }
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_OUTPUT_ROW_H_
