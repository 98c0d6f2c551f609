// How much of the score matrix a mask leaves, in tiles of a kernel.
#ifndef REGARD_SRC_ATTENTION_TILE_COUNT_H_
#define REGARD_SRC_ATTENTION_TILE_COUNT_H_

#include <cstdint>

#include "attention/problem.h"

namespace regard::inline v0 {

// Adds tiles of `queries` x `keys`, each sequence's from its own query and key
// 0 on, of the sequences whose number of queries lies in the range.
void CountTiles(const Problem& problem, IndexRange query_lengths,
                int64_t queries, int64_t keys, TileCounts& counts);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_TILE_COUNT_H_
