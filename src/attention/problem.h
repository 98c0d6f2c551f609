// A problem that has passed Check: what plans and kernels work on.
#ifndef REGARD_SRC_ATTENTION_PROBLEM_H_
#define REGARD_SRC_ATTENTION_PROBLEM_H_

#include <cstdint>
#include <functional>

#include "attention/mask/mask_set.h"
#include "attention/rows.h"
#include "regard/attention.h"

namespace regard::inline v0 {

// Element i of a list of i32 or i64.
int64_t ListItem(const TensorView& list, int64_t i);

// One row of what is written.
struct OutputRow {
  int64_t batch, head, query;  // of the arrays
  // Of its first element in an output [B, Hq, Lq, ...].
  int64_t Offset(const MutableTensorView& view) const {
    return batch * view.strides[0] + head * view.strides[1] +
           query * view.strides[2];
  }
  template <typename T>
  T* In(const MutableTensorView& view) const {
    return view.AsMutable<T>() + Offset(view);
  }
};

// Queries and the keys that they may see: a batch entry, or a packed sequence.
struct Sequence {
  int64_t index;        // MaskFrame::batch
  int64_t batch;        // entry of q's and the outputs' axis B
  int64_t first_query;  // where it begins in their axis Lq
  int64_t query_length, key_length;
  int64_t offset;      // position of query 0
  IndexRange evicted;  // keys that a ring no longer holds: no query sees them

  // The keys that storage holds, counted from 0 without those that are evicted.
  int64_t HeldKeys() const {
    return key_length - (evicted.end - evicted.begin);
  }
  int64_t HeldKey(int64_t i) const {
    return i < evicted.begin ? i : i + (evicted.end - evicted.begin);
  }

  OutputRow Row(int64_t head, int64_t query) const {
    return {batch, head, first_query + query};
  }
};

// Every size is >= 0, every address computed from sizes and strides fits 64
// bits, every option has its value. Refers to the caller's memory and mask.
struct Problem {
  // Of the arithmetic, lse and weights: f64 where q is f64, else f32.
  DType dtype = DType::kF32;
  int64_t sequences = 0;
  int64_t query_heads = 0, kv_heads = 0;
  int64_t query_length = 0, key_length = 0;  // of the longest sequence
  int64_t key_capacity = 0;  // keys of a sequence that storage can hold
  int64_t head_size = 0, value_size = 0;
  // [B, Hq, Lq, D], [B, Hkv, Lk, D], [B, Hkv, Lk, Dv], each of any floating
  // type (k and v f64 beside f64 only); B is 1 where sequences
  // are packed, and k and v are [pages, Hkv, page rows, ...] under a table.
  TensorView q, k, v;
  // Where they are given: cumulative lengths [S + 1], real lengths [S], pages
  // [S, n] of the sequences.
  TensorView query_starts, key_starts, key_lengths, block_table;
  int64_t ring_pinned = 0, ring_period = 0;  // period 0: no ring
  TensorView ring_oldest;                    // [S], or not given
  TensorView k_scales, v_scales;             // of i8: as k and v without D
  TensorView bias;                           // rank 0 to 4, or not given
  TensorView alibi_slopes, sink_logit;       // [Hq], or not given
  double scale = 1;
  double softcap = 0;  // 0: none
  const Mask* mask = nullptr;
  DocumentIndex documents;           // of the mask
  const Dropout* dropout = nullptr;  // with p > 0
  QueryOffset offset;

  // Query heads of a kv head.
  int64_t group() const { return kv_heads == 0 ? 0 : query_heads / kv_heads; }
  // Whether all sequences have the same lengths.
  bool uniform() const {
    return !query_starts.given() && !key_starts.given() && !key_lengths.given();
  }
  Sequence SequenceOf(int64_t index) const;
  // The same without `offset`, which the mask may be needed for.
  Sequence PlaceOf(int64_t index) const;
  // The mask as seen by one query head.
  MaskSet MaskOf(const Sequence& sequence, int64_t head) const;
  // Of one head: queries, keys and values counted from 0.
  Rows Queries(const Sequence& sequence, int64_t head) const;
  Rows Keys(const Sequence& sequence, int64_t kv_head) const;
  Rows Values(const Sequence& sequence, int64_t kv_head) const;

 private:
  Rows KeyRows(const TensorView& view, const TensorView& scales,
               const Sequence& sequence, int64_t kv_head) const;
};

// Where a kernel writes; checked like the problem.
struct Outputs {
  MutableTensorView out, lse, weights;  // each may be absent
  const std::function<void(const WeightTile&)>* sink = nullptr;

  bool wants_weights() const { return weights.given() || sink != nullptr; }
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PROBLEM_H_
