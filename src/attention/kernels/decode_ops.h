// What the decode loop asks of an instruction set: the arithmetic of a few rows
// on keys and values where they lie.
#ifndef REGARD_SRC_ATTENTION_KERNELS_DECODE_OPS_H_
#define REGARD_SRC_ATTENTION_KERNELS_DECODE_OPS_H_

#include <cstdint>

#include "regard/tensor.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

// Rows that keep their scores side by side: a key or value that has been read
// meets all of them while it is in the first-level cache.
inline constexpr int64_t kDecodeStripRows = 16;

// Rows are computed in tiles of up to this many: memory for rows is rounded up
// to it, and what lies in the rows beyond is never looked at.
inline constexpr int64_t kDecodeTileRows = 4;

// Elements that may be written behind the last score of a row.
inline constexpr int64_t kDecodeScoreSlack = 3;

// Keys or values that follow each other.
struct StoredRows {
  const void* first;
  int64_t stride;  // from row to row, in elements
  // Of i8: row i is multiplied by scales[i * scale_stride].
  const float* scales = nullptr;
  int64_t scale_stride = 0;
  // The first of the rows that are read after these, which lie elsewhere;
  // nullptr: those behind them.
  const void* next = nullptr;
};

// What is done with keys or values of one type where they lie. Rows of scores
// are kScoreStride apart (flash_ops.h); strides are in elements. In pairs
// (below), count and p are those of whole pairs.
template <typename T>
struct StoredOps {
  // s[r][0 .. count) = q[r] . k: q [rows][q_stride], aligned and 0 from
  // `depth` on.
  void (*scores)(int64_t rows, const T* q, int64_t q_stride,
                 const StoredRows& k, int64_t depth, int64_t count, T* s);
  // out[r] += p[r][0 .. count) . v: out [rows][out_stride] aligned whole
  // vectors.
  void (*accumulate)(int64_t rows, const T* p, const StoredRows& v,
                     int64_t count, int64_t columns, T* out,
                     int64_t out_stride);
  // The same, one row, leaving out value i where hidden[i].
  void (*accumulate_visible)(const T* p, const StoredRows& v, int64_t count,
                             int64_t columns, const uint8_t* hidden, T* out);
  // The same for p as FlashOps::weights gives them; in pairs, too, they are not
  // rounded.
  void (*accumulate_weights)(const T* p, const StoredRows& v, int64_t count,
                             int64_t columns, const uint8_t* hidden, T* out);
};

template <typename T>
struct DecodeOps {
  int64_t lanes;  // of a vector
  // Whether k and v may have any number of columns: a part of a vector is read
  // without what lies behind it. Otherwise whole vectors are wanted.
  bool reads_tails;
  // q and the weights are pairs of bf16 in the place of a T: neighbours in
  // depth, neighbouring keys. k and v are bf16.
  bool pairs;
  // Rounds `count` numbers, whole vectors, and moves them together: number i in
  // half i of the memory. nullptr without pairs.
  void (*pair_up)(T* numbers, int64_t count);
  const StoredOps<T>* same;  // k and v in T, or in pairs
  const StoredOps<T>* bf16;  // nullptr where they have to be converted before
  const StoredOps<T>* f16;
  const StoredOps<T>* i8;
  // Adds a part (its maximum, its sum of 2^(log2_scale * (score - maximum)),
  // its output) to the parts before it. `columns` whole vectors.
  void (*merge)(const T* part, T part_max, T part_sum, T log2_scale,
                int64_t columns, T* out, T* max, T* sum);

  // nullptr for types that have to be converted before.
  const StoredOps<T>* For(DType stored) const {
    if (stored == DType::kBF16) return bf16;
    if (stored == DType::kF16) return f16;
    if (stored == DType::kI8) return i8;
    return stored == DTypeOf<T>() ? same : nullptr;
  }
  // Keys that a T of the weights stands for, numbers that a T of q does.
  int64_t pair() const { return pairs ? 2 : 1; }
};

// nullptr where the instruction set has no vectors (SCALAR, EMU128).
template <typename T>
const DecodeOps<T>* DecodeOpsFor(SimdTarget target);

// On pairs. nullptr but for kAvx3Bf16.
const DecodeOps<float>* DecodeBF16OpsFor(SimdTarget target);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_DECODE_OPS_H_
