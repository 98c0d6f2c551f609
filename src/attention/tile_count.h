// How much of the score matrix a mask leaves, in tiles of a kernel.
#ifndef REGARD_SRC_ATTENTION_TILE_COUNT_H_
#define REGARD_SRC_ATTENTION_TILE_COUNT_H_

#include <cstdint>

#include "attention/problem.h"

namespace regard::inline v0 {

// Of tiles of `queries` x `keys`, each sequence's from its own query and key 0
// on.
TileCounts CountTiles(const Problem& problem, int64_t queries, int64_t keys);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_COUNT_H_
