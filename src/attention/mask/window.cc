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

}  // namespace

IndexRange Range(const WindowMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  const int64_t last = LastKey(mask, frame, queries.end - 1);
  return keys & IndexRange{FirstKey(mask, frame, queries.begin),
                           SaturatingAdd(last, 1)};
}

TileClass Classify(const WindowMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const int64_t first_query = tile.queries.begin;
  const int64_t last_query = tile.queries.end - 1;
  const int64_t last_key = tile.keys.end - 1;
  if (last_key < FirstKey(mask, frame, first_query) ||
      tile.keys.begin > LastKey(mask, frame, last_query)) {
    return TileClass::kEmpty;
  }
  // Both ends move with the query: the last query is the strictest on the left,
  // the first one on the right.
  return tile.keys.begin >= FirstKey(mask, frame, last_query) &&
                 last_key <= LastKey(mask, frame, first_query)
             ? TileClass::kFull
             : TileClass::kMixed;
}

bool Allows(const WindowMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return key >= FirstKey(mask, frame, query) &&
         key <= LastKey(mask, frame, query);
}

}  // namespace regard::inline v0
