#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

namespace {

// The keys of the chunk that a query stands in. Positions before key 0 are in
// chunks of their own, without keys.
IndexRange ChunkOf(const ChunkMask& mask, const MaskFrame& frame,
                   int64_t query) {
  const int64_t position = SaturatingAdd(query, frame.offset);
  if (position < 0) return {};
  const int64_t begin = position - position % mask.size;
  return {begin, SaturatingAdd(begin, mask.size)};
}

}  // namespace

IndexRange Range(const ChunkMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  return keys & IndexRange{ChunkOf(mask, frame, queries.begin).begin,
                           ChunkOf(mask, frame, queries.end - 1).end};
}

TileClass Classify(const ChunkMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  const IndexRange first = ChunkOf(mask, frame, tile.queries.begin);
  const IndexRange last = ChunkOf(mask, frame, tile.queries.end - 1);
  if ((tile.keys & IndexRange{first.begin, last.end}).empty()) {
    return TileClass::kEmpty;
  }
  return first == last && (tile.keys & first) == tile.keys ? TileClass::kFull
                                                           : TileClass::kMixed;
}

bool Allows(const ChunkMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  const IndexRange chunk = ChunkOf(mask, frame, query);
  return key >= chunk.begin && key < chunk.end;
}

}  // namespace regard::inline v0
