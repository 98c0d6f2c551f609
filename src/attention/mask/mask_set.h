// What the tile loop and the kernels ask a mask.
//
// Each alternative of MaskTerm answers four questions, in a file of its own
// (causal.cc, window.cc, lengths.cc, boolean.cc); MaskSet asks all terms of a
// mask and intersects. An alternative without its four overloads does not
// compile.
//
//   Range(rows)      keys outside are hidden from all these rows
//   Classify(tile)   nothing visible, everything visible, or to be looked at
//   Allows(q, k)     the definition; the other three must agree with it
//   AndRow(q, keys)  hides what Range({q, q + 1}) alone doesn't
//
// All are pure, allocate nothing and do not fail on a checked problem.
#ifndef REGARD_SRC_ATTENTION_MASK_MASK_SET_H_
#define REGARD_SRC_ATTENTION_MASK_MASK_SET_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "regard/mask.h"

namespace regard::inline v0 {

// [begin, end)
struct IndexRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  friend IndexRange operator&(IndexRange a, IndexRange b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  }
  bool operator==(const IndexRange&) const = default;
};

// A block of queries x a block of keys; neither empty.
struct ScoreTile {
  IndexRange queries, keys;
};

enum class TileClass { kEmpty, kMixed, kFull };

// Whose scores are meant, and where they stand.
struct MaskFrame {
  int64_t batch = 0, head = 0;  // query head
  int64_t query_length = 0, key_length = 0;
  int64_t offset = 0;  // position of query 0
};

// The largest position that a query may be put at: positions then never leave
// 64 bits, and a window that does means "no limit".
inline constexpr int64_t kMaxOffset = int64_t{1} << 62;

// a + b, held at the ends of 64 bits.
int64_t SaturatingAdd(int64_t a, int64_t b);

IndexRange Range(const CausalMask& mask, const MaskFrame& frame,
                 IndexRange queries);
TileClass Classify(const CausalMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile);
bool Allows(const CausalMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key);
inline void AndRow(const CausalMask&, const MaskFrame&, int64_t, IndexRange,
                   uint8_t*) {}

IndexRange Range(const WindowMask& mask, const MaskFrame& frame,
                 IndexRange queries);
TileClass Classify(const WindowMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile);
bool Allows(const WindowMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key);
inline void AndRow(const WindowMask&, const MaskFrame&, int64_t, IndexRange,
                   uint8_t*) {}

IndexRange Range(const LengthsMask& mask, const MaskFrame& frame,
                 IndexRange queries);
TileClass Classify(const LengthsMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile);
bool Allows(const LengthsMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key);
inline void AndRow(const LengthsMask&, const MaskFrame&, int64_t, IndexRange,
                   uint8_t*) {}

IndexRange Range(const BooleanMask& mask, const MaskFrame& frame,
                 IndexRange queries);
TileClass Classify(const BooleanMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile);
bool Allows(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key);
// visible[i] &= mask(query, keys.begin + i)
void AndRow(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, uint8_t* visible);

// The intersection of all terms of a mask, for one frame. Refers to the mask.
class MaskSet {
 public:
  MaskSet(const Mask& mask, const MaskFrame& frame)
      : terms_(&mask.terms()), frame_(frame) {}

  const MaskFrame& frame() const { return frame_; }
  // Always within [0, key_length).
  IndexRange Range(IndexRange queries) const;
  TileClass Classify(const ScoreTile& tile) const;
  bool Allows(int64_t query, int64_t key) const;
  // Whether AndRow can hide anything.
  bool HasPattern() const;
  void AndRow(int64_t query, IndexRange keys, uint8_t* visible) const;

 private:
  const std::vector<MaskTerm>* terms_;
  MaskFrame frame_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_MASK_MASK_SET_H_
