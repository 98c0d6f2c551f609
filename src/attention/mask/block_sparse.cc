#include "attention/mask/mask_set.h"
#include "attention/score/broadcast.h"

namespace regard::inline v0 {

namespace {

// Blocks of `size` that have a part in `range`.
IndexRange BlocksOf(IndexRange range, int64_t size) {
  return {range.begin / size, (range.end - 1) / size + 1};
}

struct LayoutRow {
  const uint8_t* data;
  int64_t stride;
  bool operator[](int64_t key_block) const {
    return data[key_block * stride] != 0;
  }
};

LayoutRow RowOf(const BlockSparseMask& mask, const MaskFrame& frame,
                int64_t query_block) {
  const BroadcastRow row =
      RowOf(mask.layout, frame.batch, frame.head, query_block);
  return {static_cast<const uint8_t*>(mask.layout.data) + row.offset,
          row.stride};
}

// The keys of a block, cut to what is meant.
IndexRange KeysOf(const BlockSparseMask& mask, int64_t key_block,
                  IndexRange keys) {
  const int64_t begin = key_block * mask.key_block;
  return keys & IndexRange{begin, SaturatingAdd(begin, mask.key_block)};
}

}  // namespace

IndexRange Range(const BlockSparseMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  const IndexRange columns = BlocksOf(keys, mask.key_block);
  const IndexRange rows = BlocksOf(queries, mask.query_block);
  IndexRange seen;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const LayoutRow row = RowOf(mask, frame, r);
    IndexRange part = columns;
    while (!part.empty() && !row[part.begin]) ++part.begin;
    while (!part.empty() && !row[part.end - 1]) --part.end;
    if (!part.empty()) seen = Hull(seen, part);
  }
  if (seen.empty()) return {};
  return Hull(KeysOf(mask, seen.begin, keys), KeysOf(mask, seen.end - 1, keys));
}

TileClass Classify(const BlockSparseMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const IndexRange columns = BlocksOf(tile.keys, mask.key_block);
  const IndexRange rows = BlocksOf(tile.queries, mask.query_block);
  const bool first = RowOf(mask, frame, rows.begin)[columns.begin];
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const LayoutRow row = RowOf(mask, frame, r);
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      if (row[c] != first) return TileClass::kMixed;
    }
  }
  return first ? TileClass::kFull : TileClass::kEmpty;
}

bool Allows(const BlockSparseMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return RowOf(mask, frame, query / mask.query_block)[key / mask.key_block];
}

void AndRow(const BlockSparseMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  const LayoutRow row = RowOf(mask, frame, query / mask.query_block);
  const IndexRange columns = BlocksOf(keys, mask.key_block);
  for (int64_t c = columns.begin; c < columns.end; ++c) {
    if (!row[c]) visible.Clear(KeysOf(mask, c, keys));
  }
}

}  // namespace regard::inline v0
