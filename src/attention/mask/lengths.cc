#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

namespace {

int64_t QueryLength(const LengthsMask& mask, const MaskFrame& frame) {
  return mask.query.empty() ? frame.query_length
                            : mask.query[static_cast<size_t>(frame.batch)];
}

int64_t KeyLength(const LengthsMask& mask, const MaskFrame& frame) {
  return mask.key.empty() ? frame.key_length
                          : mask.key[static_cast<size_t>(frame.batch)];
}

}  // namespace

IndexRange Range(const LengthsMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  if (queries.begin >= QueryLength(mask, frame)) return {};
  return keys & IndexRange{0, KeyLength(mask, frame)};
}

TileClass Classify(const LengthsMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const int64_t queries = QueryLength(mask, frame);
  const int64_t keys = KeyLength(mask, frame);
  if (tile.queries.begin >= queries || tile.keys.begin >= keys) {
    return TileClass::kEmpty;
  }
  return tile.queries.end <= queries && tile.keys.end <= keys
             ? TileClass::kFull
             : TileClass::kMixed;
}

bool Allows(const LengthsMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return query < QueryLength(mask, frame) && key < KeyLength(mask, frame);
}

}  // namespace regard::inline v0
