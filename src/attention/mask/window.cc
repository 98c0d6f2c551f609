#include <limits>

#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// First and last (inclusive) key that a query sees, before the ends of the
// sequence are considered.
int64_t FirstKey(const WindowMask& mask, const MaskFrame& frame,
                 int64_t query) {
  if (!mask.left) return kMin;
  return SaturatingAdd(SaturatingAdd(query, frame.offset), 1 - *mask.left);
}

int64_t LastKey(const WindowMask& mask, const MaskFrame& frame, int64_t query) {
  if (!mask.right) return kMax;
  return SaturatingAdd(SaturatingAdd(query, frame.offset), *mask.right);
}

// The first keys that stay visible to some query up to `query`.
IndexRange Kept(const WindowMask& mask, const MaskFrame& frame, int64_t query) {
  return {0, std::min(mask.first_keys,
                      SaturatingAdd(LastKey(mask, frame, query), 1))};
}

}  // namespace

IndexRange Range(const WindowMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  const int64_t last_query = queries.end - 1;
  const IndexRange window = {
      FirstKey(mask, frame, queries.begin),
      SaturatingAdd(LastKey(mask, frame, last_query), 1)};
  return Hull(keys & Kept(mask, frame, last_query), keys & window);
}

TileClass Classify(const WindowMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  if (Range(mask, frame, tile.queries, tile.keys).empty()) {
    return TileClass::kEmpty;
  }
  // Both ends move with the query: the last query is the strictest on the left,
  // the first one on the right.
  const int64_t first_key = FirstKey(mask, frame, tile.queries.end - 1);
  const bool left = tile.keys.begin >= first_key ||
                    tile.keys.end <= mask.first_keys ||
                    mask.first_keys >= first_key;
  return left && tile.keys.end - 1 <= LastKey(mask, frame, tile.queries.begin)
             ? TileClass::kFull
             : TileClass::kMixed;
}

bool Allows(const WindowMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return (key >= FirstKey(mask, frame, query) || key < mask.first_keys) &&
         key <= LastKey(mask, frame, query);
}

void AndRow(const WindowMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  visible.Clear(keys &
                IndexRange{mask.first_keys, FirstKey(mask, frame, query)});
}

}  // namespace regard::inline v0
