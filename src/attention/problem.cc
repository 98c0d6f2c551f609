#include "attention/problem.h"

#include <algorithm>
#include <variant>

namespace regard::inline v0 {

int64_t ListItem(const TensorView& list, int64_t i) {
  const int64_t at = i * list.strides[0];
  return list.dtype == DType::kI32
             ? static_cast<int64_t>(list.As<int32_t>()[at])
             : list.As<int64_t>()[at];
}

Sequence Problem::PlaceOf(int64_t index) const {
  Sequence s = {index, index, 0, query_length, key_length, 0, {}};
  if (query_starts.given()) {
    s.batch = 0;
    s.first_query = ListItem(query_starts, index);
    s.query_length = ListItem(query_starts, index + 1) - s.first_query;
  }
  if (key_starts.given()) {
    s.key_length =
        ListItem(key_starts, index + 1) - ListItem(key_starts, index);
  }
  if (key_lengths.given()) s.key_length = ListItem(key_lengths, index);
  if (ring_period > 0) {
    int64_t oldest = s.key_length - ring_period;
    if (ring_oldest.given()) {
      oldest = std::max(oldest, ListItem(ring_oldest, index));
    }
    s.evicted = {ring_pinned,
                 std::max(ring_pinned, std::min(oldest, s.key_length))};
  }
  return s;
}

Sequence Problem::SequenceOf(int64_t index) const {
  Sequence s = PlaceOf(index);
  if (offset.kind == QueryOffset::Kind::kExplicit) s.offset = offset.value;
  if (offset.kind == QueryOffset::Kind::kBottomRight) {
    int64_t queries = s.query_length, keys = s.key_length;
    for (const MaskTerm& term : mask->terms()) {
      const LengthsMask* lengths = std::get_if<LengthsMask>(&term);
      if (lengths == nullptr) continue;
      const size_t at = static_cast<size_t>(index);
      if (!lengths->query.empty()) {
        queries = std::min(queries, lengths->query[at]);
      }
      if (!lengths->key.empty()) keys = std::min(keys, lengths->key[at]);
    }
    s.offset = keys - queries;
  }
  return s;
}

MaskSet Problem::MaskOf(const Sequence& s, int64_t head) const {
  return MaskSet(*mask, {s.index, head, s.query_length, s.key_length, s.offset},
                 documents);
}

Rows Problem::Queries(const Sequence& s, int64_t head) const {
  return RowsOf(q, s.batch, head, s.first_query);
}

Rows Problem::KeyRows(const TensorView& view, const TensorView& scales,
                      const Sequence& s, int64_t kv_head) const {
  if (key_starts.given()) {
    return RowsOf(view, 0, kv_head, ListItem(key_starts, s.index), scales);
  }
  const bool paged = block_table.given();
  Rows rows = RowsOf(view, paged ? 0 : s.index, kv_head, 0, scales);
  rows.pinned = ring_pinned;
  rows.period = ring_period;
  if (!paged) return rows;
  rows.wide_table = block_table.dtype == DType::kI64;
  rows.table = static_cast<const std::byte*>(block_table.data) +
               s.index * block_table.strides[0] *
                   static_cast<int64_t>(ItemSize(block_table.dtype));
  rows.table_stride = block_table.strides[1];
  rows.page_stride = view.strides[0];
  rows.page_rows = view.shape[2];
  return rows;
}

Rows Problem::Keys(const Sequence& s, int64_t kv_head) const {
  return KeyRows(k, k_scales, s, kv_head);
}

Rows Problem::Values(const Sequence& s, int64_t kv_head) const {
  return KeyRows(v, v_scales, s, kv_head);
}

}  // namespace regard::inline v0
