#include "attention/mask/mask_set.h"
#include "attention/score/broadcast.h"

namespace regard::inline v0 {

namespace {

struct BitsRow {
  const uint8_t* data;
  int64_t stride;  // between bytes
  bool operator[](int64_t key) const {
    return (data[key / 8 * stride] >> (key % 8) & 1) != 0;
  }
};

BitsRow RowOf(const BitMask& mask, const MaskFrame& frame, int64_t query) {
  const BroadcastRow row = RowOf(mask.bytes, frame.batch, frame.head, query);
  return {static_cast<const uint8_t*>(mask.bytes.data) + row.offset,
          row.stride};
}

// Whether all keys of the range have the same bit as `first`, by whole bytes
// where there are some.
bool AllAre(const BitsRow& row, IndexRange keys, bool first) {
  const uint8_t byte = first ? 0xFF : 0;
  int64_t k = keys.begin;
  while (k < keys.end) {
    if (k % 8 == 0 && keys.end - k >= 8) {
      if (row.data[k / 8 * row.stride] != byte) return false;
      k += 8;
    } else {
      if (row[k] != first) return false;
      ++k;
    }
  }
  return true;
}

}  // namespace

// As for a boolean mask, the tiles themselves find out.
IndexRange Range(const BitMask&, const MaskFrame&, IndexRange,
                 IndexRange keys) {
  return keys;
}

TileClass Classify(const BitMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const bool first = Allows(mask, frame, tile.queries.begin, tile.keys.begin);
  for (int64_t q = tile.queries.begin; q < tile.queries.end; ++q) {
    if (!AllAre(RowOf(mask, frame, q), tile.keys, first)) {
      return TileClass::kMixed;
    }
  }
  return first ? TileClass::kFull : TileClass::kEmpty;
}

bool Allows(const BitMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return RowOf(mask, frame, query)[key];
}

void AndRow(const BitMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, uint8_t* visible) {
  const BitsRow row = RowOf(mask, frame, query);
  for (int64_t k = keys.begin; k < keys.end; ++k) {
    visible[k - keys.begin] &= static_cast<uint8_t>(row[k]);
  }
}

}  // namespace regard::inline v0
