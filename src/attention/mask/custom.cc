#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

// Whatever the function answers, no other keys than these are touched.
IndexRange Range(const CustomMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys) {
  return keys & mask.function->Range(frame, queries, keys);
}

TileClass Classify(const CustomMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile) {
  return mask.function->Classify(frame, tile);
}

bool Allows(const CustomMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return mask.function->Allows(frame, query, key);
}

}  // namespace regard::inline v0
