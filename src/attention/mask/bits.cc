#include <bit>

#include "attention/mask/mask_set.h"
#include "attention/score/broadcast.h"

namespace regard::inline v0 {

namespace {

static_assert(std::endian::native == std::endian::little);

// The bits of one query.
struct BitsRow {
  const uint8_t* data;
  int64_t stride;  // between bytes

  // Of up to 64 keys in one word, the lowest bit that of the first.
  uint64_t operator()(IndexRange keys) const {
    const int64_t first = keys.begin / 8,
                  bytes = (keys.end - 1) / 8 - first + 1;
    uint64_t word = 0;
    if (stride == 1 && bytes == 8) {
      std::memcpy(&word, data + first, 8);
    } else {
      for (int64_t i = 0; i < bytes; ++i) {
        word |= static_cast<uint64_t>(data[(first + i) * stride]) << (8 * i);
      }
    }
    return word >> (keys.begin % 8);
  }
};

BitsRow RowOf(const BitMask& mask, const MaskFrame& frame, int64_t query) {
  const BroadcastRow row = RowOf(mask.bytes, frame.batch, frame.head, query);
  return {static_cast<const uint8_t*>(mask.bytes.data) + row.offset,
          row.stride};
}

}  // namespace

// As for a boolean mask, the tiles themselves find out.
IndexRange Range(const BitMask&, const MaskFrame&, IndexRange,
                 IndexRange keys) {
  return keys;
}

TileClass Classify(const BitMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  return ClassifyPattern(
      tile, [&](int64_t query) { return RowOf(mask, frame, query); });
}

bool Allows(const BitMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return (RowOf(mask, frame, query)({key, key + 1}) & 1) != 0;
}

void AndRow(const BitMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  visible.And(keys, RowOf(mask, frame, query));
}

}  // namespace regard::inline v0
