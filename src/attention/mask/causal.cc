#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

// Visible: key <= query + offset.

IndexRange Range(const CausalMask&, const MaskFrame& frame, IndexRange queries,
                 IndexRange keys) {
  return keys & IndexRange{0, SaturatingAdd(queries.end, frame.offset)};
}

TileClass Classify(const CausalMask&, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const int64_t first = SaturatingAdd(tile.queries.begin, frame.offset);
  const int64_t last = SaturatingAdd(tile.queries.end - 1, frame.offset);
  if (tile.keys.begin > last) return TileClass::kEmpty;
  return tile.keys.end - 1 <= first ? TileClass::kFull : TileClass::kMixed;
}

bool Allows(const CausalMask&, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return key <= SaturatingAdd(query, frame.offset);
}

}  // namespace regard::inline v0
