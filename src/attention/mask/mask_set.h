// What the tile loop and the kernels ask a mask.
//
// Each alternative of MaskTerm answers in a file of its own (causal.cc,
// window.cc, ...); MaskSet asks all terms of a mask and intersects. An
// alternative without its overloads does not compile.
//
//   Range(rows, keys)  what these rows can see of these keys: the rest is
//                      hidden from all of them, and not read
//   Classify(tile)     nothing visible, everything visible, or to be looked at
//   Allows(q, k)       the definition; the others must agree with it
//   HasPattern()       whether a row may be more than one run of keys
//   AndRow(q, keys)    hides of what Range of one row leaves, in such rows
//
// More rows or more keys never make a range smaller: what is packed for many
// rows serves each of them. All are pure, allocate nothing and do not fail on a
// checked problem.
#ifndef REGARD_SRC_ATTENTION_MASK_MASK_SET_H_
#define REGARD_SRC_ATTENTION_MASK_MASK_SET_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "attention/mask/document_index.h"
#include "attention/mask/key_bits.h"
#include "attention/rows_ahead.h"
#include "regard/mask.h"

namespace regard::inline v0 {

// The shortest range that holds both.
inline IndexRange Hull(IndexRange a, IndexRange b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// The largest position that a query may be put at: positions then never leave
// 64 bits, and a window that does means "no limit".
inline constexpr int64_t kMaxOffset = int64_t{1} << 62;

// a + b, held at the ends of 64 bits.
int64_t SaturatingAdd(int64_t a, int64_t b);

// `keys` lie within [0, key_length) and are not empty; the answer is a part of
// them.
#define REGARD_MASK(M)                                                        \
  IndexRange Range(const M& mask, const MaskFrame& frame, IndexRange queries, \
                   IndexRange keys);                                          \
  TileClass Classify(const M& mask, const MaskFrame& frame,                   \
                     const ScoreTile& tile);                                  \
  bool Allows(const M& mask, const MaskFrame& frame, int64_t query,           \
              int64_t key);
REGARD_MASK(CausalMask)
REGARD_MASK(PrefixMask)
REGARD_MASK(ChunkMask)
REGARD_MASK(WindowMask)
REGARD_MASK(LengthsMask)
REGARD_MASK(BlockSparseMask)
REGARD_MASK(BitMask)
REGARD_MASK(BooleanMask)
REGARD_MASK(CustomMask)
#undef REGARD_MASK

// Documents are also told what is known of their ids, and search where they
// would have to look at every one. `index.pieces` begin with those of the mask.
IndexRange Range(const DocumentMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys,
                 const DocumentIndex& index);
TileClass Classify(const DocumentMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile, const DocumentIndex& index);
bool Allows(const DocumentMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key);

inline bool HasPattern(const CausalMask&) { return false; }
inline bool HasPattern(const PrefixMask&) { return false; }
inline bool HasPattern(const ChunkMask&) { return false; }
inline bool HasPattern(const WindowMask& mask) { return mask.first_keys > 0; }
inline bool HasPattern(const LengthsMask&) { return false; }
inline bool HasPattern(const DocumentMask&) { return true; }
inline bool HasPattern(const BlockSparseMask&) { return true; }
inline bool HasPattern(const BitMask&) { return true; }
inline bool HasPattern(const BooleanMask&) { return true; }
inline bool HasPattern(const CustomMask&) { return true; }

// Whether a mask holds something for every pair, which is not to be read twice.
template <typename M>
constexpr bool IsStored(const M&) {
  return std::is_same_v<M, BitMask> || std::is_same_v<M, BooleanMask>;
}

// Clears the bits of those of `keys` that `query` doesn't see. `keys` are a
// part of what Range of this row leaves.
template <typename M>
void AndRow(const M& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  for (int64_t k = keys.begin; k < keys.end; ++k) {
    if (!Allows(mask, frame, query, k)) visible.Clear({k, k + 1});
  }
}
void AndRow(const WindowMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible);
void AndRow(const DocumentMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible);
void AndRow(const BitMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible);
void AndRow(const BlockSparseMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible);
void AndRow(const BooleanMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible);

// The intersection of all terms of a mask, for one frame. Refers to the mask.
class MaskSet {
 public:
  MaskSet(const Mask& mask, const MaskFrame& frame,
          const DocumentIndex& documents = {})
      : terms_(&mask.terms()), frame_(frame), documents_(documents) {}

  const MaskFrame& frame() const { return frame_; }
  // Within `keys` and [0, key_length).
  IndexRange Range(IndexRange queries, IndexRange keys) const;
  TileClass Classify(const ScoreTile& tile) const;
  // The same without reading bits and booleans, which may be anything.
  TileClass Estimate(const ScoreTile& tile) const;
  bool Allows(int64_t query, int64_t key) const;
  // Whether a row may see anything else than all of its Range.
  bool HasPattern() const;
  // Sets the bits of those of `keys` that the query sees; all others of the
  // words stay as they are.
  void SetRow(int64_t query, IndexRange keys, const KeyBits& visible) const;
  // What SetRow will read of the first stored term for rows from `query` and
  // keys from `key` on.
  RowsAhead StoredAhead(int64_t query, int64_t key) const;

 private:
  bool IsPattern(const MaskTerm& term) const;
  template <typename M>
  TileClass ClassifyTerm(const M& mask, const ScoreTile& tile,
                         DocumentIndex& next) const;

  const std::vector<MaskTerm>* terms_;
  MaskFrame frame_;
  DocumentIndex documents_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_MASK_MASK_SET_H_
