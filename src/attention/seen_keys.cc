#include "attention/seen_keys.h"

#include <algorithm>

#include "base/checked.h"

namespace regard::inline v0 {

namespace {

// Adds to `seen` what these blocks of `size` queries see of `keys`. Halves that
// see nothing more are left out; the last queries come first, which see most
// under a causal mask.
void AddSeen(const MaskSet& mask, IndexRange query_blocks, int64_t size,
             IndexRange keys, IndexRange& seen) {
  const IndexRange queries = {
      query_blocks.begin * size,
      std::min(query_blocks.end * size, mask.frame().query_length)};
  const IndexRange found = mask.Range(queries, keys);
  if (found.empty() || (found & seen) == found) return;
  if (query_blocks.end - query_blocks.begin == 1) {
    seen = Hull(seen, found);
    return;
  }
  const int64_t middle =
      query_blocks.begin + (query_blocks.end - query_blocks.begin) / 2;
  AddSeen(mask, {middle, query_blocks.end}, size, keys, seen);
  AddSeen(mask, {query_blocks.begin, middle}, size, keys, seen);
}

}  // namespace

std::span<const IndexRange> SeenKeys(const Problem& p, const Sequence& sequence,
                                     int64_t kv_head, int64_t block_queries,
                                     IndexRange keys,
                                     std::span<IndexRange> runs) {
  const IndexRange query_blocks = {
      0, CeilDiv(sequence.query_length, block_queries)};
  keys = keys & IndexRange{0, sequence.key_length};
  size_t used = 0;
  for (int64_t at = keys.begin; at < keys.end; at += kKeysPerPiece) {
    const IndexRange piece = {at, std::min(at + kKeysPerPiece, keys.end)};
    IndexRange seen;
    for (int64_t g = 0; g < p.group(); ++g) {
      AddSeen(p.MaskOf(sequence, kv_head * p.group() + g), query_blocks,
              block_queries, piece, seen);
    }
    if (seen.empty()) continue;
    if (used > 0 && runs[used - 1].end == seen.begin) {
      runs[used - 1].end = seen.end;
    } else {
      runs[used++] = seen;
    }
  }
  return runs.first(used);
}

}  // namespace regard::inline v0
