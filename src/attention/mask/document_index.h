// What is known of the ids of document masks before they are asked anything, so
// that keys are found without a look at every id.
#ifndef REGARD_SRC_ATTENTION_MASK_DOCUMENT_INDEX_H_
#define REGARD_SRC_ATTENTION_MASK_DOCUMENT_INDEX_H_

#include <algorithm>
#include <cstdint>

#include "regard/mask.h"

namespace regard::inline v0 {

// All ids from the smallest to the largest of some.
struct IdRange {
  int64_t min, max;
  bool Holds(int64_t id) const { return id >= min && id <= max; }
  bool Meets(const IdRange& other) const {
    return other.max >= min && other.min <= max;
  }
  void Add(const IdRange& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
  }
};

// Ids of a piece: its range costs a quarter of the memory of 64 ids in i32, and
// saves reading them 64 times for each block of queries.
inline constexpr int64_t kIdsPerPiece = 64;

// Of all document masks of a mask.
struct DocumentIndex {
  // All ids grow with the position: then the ends of a range tell everything,
  // and there are no pieces.
  bool growing = false;
  // For each mask in order: the pieces of its query ids, row by row, then those
  // of its key ids. nullptr: nobody has looked, ids are read one by one.
  const IdRange* pieces = nullptr;
};

// Whether the ids of all documents of a mask grow.
bool IdsGrow(const Mask& mask);
// Pieces that FillPieces writes.
int64_t PiecesOf(const DocumentMask& mask);
int64_t PiecesOf(const Mask& mask);
// Those that it would write if there were so many queries and keys. Error
// (kSize) past 64 bits.
int64_t PiecesOf(const Mask& mask, int64_t queries, int64_t keys);
void FillPieces(const Mask& mask, IdRange* pieces);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_MASK_DOCUMENT_INDEX_H_
