#include "attention/mask/mask_set.h"
#include "attention/score/broadcast.h"

namespace regard::inline v0 {

namespace {

// The bytes of one query; bool and u8 are both one byte, 0 or not 0.
struct BytesRow {
  const uint8_t* data;
  int64_t stride;
  NotZero64 not_zero = PlainNotZero64;

  // Of up to 64 keys in one word, the lowest bit that of the first.
  uint64_t operator()(IndexRange keys) const {
    const int64_t count = keys.end - keys.begin;
    const uint8_t* from = data + keys.begin * stride;
    if (stride == 1 && count == kKeysPerWord) return not_zero(from);
    uint64_t word = 0;
    for (int64_t i = 0; i < count; ++i) {
      word |= static_cast<uint64_t>(from[i * stride] != 0) << i;
    }
    return word;
  }
};

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
  return ClassifyPattern(
      tile, [&](int64_t query) { return RowOf(mask, frame, query); });
}

bool Allows(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return (RowOf(mask, frame, query)({key, key + 1}) & 1) != 0;
}

void AndRow(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  BytesRow row = RowOf(mask, frame, query);
  row.not_zero = visible.not_zero;
  visible.And(keys, row);
}

}  // namespace regard::inline v0
