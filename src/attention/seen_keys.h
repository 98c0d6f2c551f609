// Which keys some query sees: what is packed, and read at all.
#ifndef REGARD_SRC_ATTENTION_SEEN_KEYS_H_
#define REGARD_SRC_ATTENTION_SEEN_KEYS_H_

#include <cstdint>
#include <span>

#include "attention/problem.h"

namespace regard::inline v0 {

// The finest part of a key block that is left unread, and whose scores are not
// computed, where a pattern hides all of it: whole panels, and a common block
// size of sparse layouts.
inline constexpr int64_t kKeysPerPiece = 64;

// The runs of `keys` that some query of some head of the group sees, in `runs`,
// which has room for one a piece; returns those that are used. Queries are
// asked in blocks of `block_queries`.
std::span<const IndexRange> SeenKeys(const Problem& problem,
                                     const Sequence& sequence, int64_t kv_head,
                                     int64_t block_queries, IndexRange keys,
                                     std::span<IndexRange> runs);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SEEN_KEYS_H_
