#include "attention/mask/mask_set.h"
#include "attention/score/broadcast.h"

namespace regard::inline v0 {

namespace {

struct BytesRow {
  const uint8_t* data;
  int64_t stride;
  bool operator[](int64_t key) const { return data[key * stride] != 0; }
};

// bool and u8 are both one byte, 0 or not 0.
BytesRow RowOf(const BooleanMask& mask, const MaskFrame& frame, int64_t query) {
  const BroadcastRow row = RowOf(mask.allowed, frame.batch, frame.head, query);
  return {static_cast<const uint8_t*>(mask.allowed.data) + row.offset,
          row.stride};
}

}  // namespace

// Reading the whole row to find its ends would cost as much as the tiles do.
IndexRange Range(const BooleanMask&, const MaskFrame&, IndexRange,
                 IndexRange keys) {
  return keys;
}

TileClass Classify(const BooleanMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const bool first = Allows(mask, frame, tile.queries.begin, tile.keys.begin);
  for (int64_t q = tile.queries.begin; q < tile.queries.end; ++q) {
    const BytesRow row = RowOf(mask, frame, q);
    for (int64_t k = tile.keys.begin; k < tile.keys.end; ++k) {
      if (row[k] != first) return TileClass::kMixed;
    }
  }
  return first ? TileClass::kFull : TileClass::kEmpty;
}

bool Allows(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return RowOf(mask, frame, query)[key];
}

void AndRow(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, uint8_t* visible) {
  const BytesRow row = RowOf(mask, frame, query);
  for (int64_t k = keys.begin; k < keys.end; ++k) {
    visible[k - keys.begin] &= static_cast<uint8_t>(row[k]);
  }
}

}  // namespace regard::inline v0
