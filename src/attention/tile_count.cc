#include "attention/tile_count.h"

#include <algorithm>

namespace regard::inline v0 {

namespace {

// As the loops ask: the range that these queries see of a key block, then the
// class of what is left. A range that ends inside the block makes it mixed.
TileClass ClassOf(const MaskSet& mask, IndexRange queries, IndexRange block) {
  const IndexRange keys = mask.Range(queries, block);
  if (keys.empty()) return TileClass::kEmpty;
  const TileClass tile = mask.Classify({queries, keys});
  return tile == TileClass::kFull && keys != block ? TileClass::kMixed : tile;
}

void Count(const MaskSet& mask, IndexRange queries, int64_t keys,
           TileCounts& counts) {
  const int64_t length = mask.frame().key_length;
  for (int64_t begin = 0; begin < length; begin += keys) {
    const IndexRange block = {begin, std::min(begin + keys, length)};
    switch (ClassOf(mask, queries, block)) {
      case TileClass::kEmpty:
        ++counts.empty;
        break;
      case TileClass::kFull:
        ++counts.full;
        break;
      case TileClass::kMixed:
        ++counts.mixed;
        break;
    }
  }
}

}  // namespace

void CountTiles(const Problem& p, IndexRange query_lengths, int64_t queries,
                int64_t keys, TileCounts& counts) {
  for (int64_t index = 0; index < p.sequences; ++index) {
    const Sequence sequence = p.SequenceOf(index);
    if (sequence.query_length < query_lengths.begin ||
        sequence.query_length >= query_lengths.end) {
      continue;
    }
    for (int64_t head = 0; head < p.query_heads; ++head) {
      const MaskSet mask = p.MaskOf(sequence, head);
      for (int64_t q = 0; q < sequence.query_length; q += queries) {
        Count(mask, {q, std::min(q + queries, sequence.query_length)}, keys,
              counts);
      }
    }
  }
}

}  // namespace regard::inline v0
