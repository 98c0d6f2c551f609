// Reading a mask or a bias that is broadcast to [B, Hq, Lq, Lk].
#ifndef REGARD_SRC_ATTENTION_SCORE_BROADCAST_H_
#define REGARD_SRC_ATTENTION_SCORE_BROADCAST_H_

#include <cstdint>

#include "attention/rows_ahead.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// One row of the keys: element k is at offset + k * stride.
struct BroadcastRow {
  int64_t offset = 0;
  int64_t stride = 0;
};

// `view` has rank 0 to 4; its axes are aligned from the right, and an axis that
// is missing or of size 1 is repeated (numpy's rules).
inline BroadcastRow RowOf(const TensorView& view, int64_t batch, int64_t head,
                          int64_t query) {
  const auto stride = [&](int from_right) {
    if (from_right >= view.rank()) return int64_t{0};
    return view.shape.Back(from_right) == 1 ? 0 : view.strides.Back(from_right);
  };
  return {batch * stride(3) + head * stride(2) + query * stride(1), stride(0)};
}

// The rows from `query` on, where elements lie side by side, each of
// `keys_per_element` keys, the first of which holds `key`.
inline RowsAhead AheadOf(const TensorView& view, int64_t batch, int64_t head,
                         int64_t query, int64_t key, int64_t keys_per_element) {
  const BroadcastRow first = RowOf(view, batch, head, query);
  if (first.stride != 1) return {};
  const int64_t size = static_cast<int64_t>(ItemSize(view.dtype));
  const int64_t second = RowOf(view, batch, head, query + 1).offset;
  return {static_cast<const char*>(view.data) +
              (first.offset + key / keys_per_element) * size,
          (second - first.offset) * size, 8 * size / keys_per_element};
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_BROADCAST_H_
