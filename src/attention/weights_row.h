// One row of weights, as every tile loop makes it and hands it over.
#ifndef REGARD_SRC_ATTENTION_WEIGHTS_ROW_H_
#define REGARD_SRC_ATTENTION_WEIGHTS_ROW_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/kernels/flash_ops.h"
#include "attention/pack.h"

namespace regard::inline v0 {

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

// Row `query` of the weights output `to`: 0 for the first `key_length` keys.
template <typename T>
void ClearWeightsRow(const Matrix<T>& to, int64_t query, int64_t key_length) {
  T* row = const_cast<T*>(to.Row(query));
  for (int64_t k = 0; k < key_length; ++k) row[k * to.column_stride] = 0;
}

// Row `query` of the weights output `to`: the weights of the keys [begin, end).
template <typename T>
void StoreWeightsRow(const Matrix<T>& to, int64_t query, int64_t begin,
                     int64_t end, const T* weights) {
  T* row = const_cast<T*>(to.Row(query));
  for (int64_t k = begin; k < end; ++k) {
    row[k * to.column_stride] = weights[k - begin];
  }
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_WEIGHTS_ROW_H_
