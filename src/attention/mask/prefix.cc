#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

namespace {

// Behind the last key that a query sees.
int64_t EndOfKeys(const PrefixMask& mask, const MaskFrame& frame,
                  int64_t query) {
  return std::max(mask.keys, SaturatingAdd(query + 1, frame.offset));
}

}  // namespace

IndexRange Range(const PrefixMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  return keys & IndexRange{0, EndOfKeys(mask, frame, queries.end - 1)};
}

TileClass Classify(const PrefixMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  if (tile.keys.begin >= EndOfKeys(mask, frame, tile.queries.end - 1)) {
    return TileClass::kEmpty;
  }
  return tile.keys.end <= EndOfKeys(mask, frame, tile.queries.begin)
             ? TileClass::kFull
             : TileClass::kMixed;
}

bool Allows(const PrefixMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return key < EndOfKeys(mask, frame, query);
}

}  // namespace regard::inline v0
