// Which keys of a block one query sees, one bit a key.
#ifndef REGARD_SRC_ATTENTION_MASK_KEY_BITS_H_
#define REGARD_SRC_ATTENTION_MASK_KEY_BITS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "regard/mask.h"

namespace regard::inline v0 {

// Keys of a word.
inline constexpr int64_t kKeysPerWord = 64;

// The lowest `count` bits, 0 to 64 of them.
inline uint64_t LowBits(int64_t count) {
  return count == kKeysPerWord ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Calls visit(part) for the parts of `keys` that lie in one word each, in
// order.
template <typename Visit>
void ForEachWord(IndexRange keys, const Visit& visit) {
  for (int64_t end, at = keys.begin; at < keys.end; at = end) {
    end = std::min((at / kKeysPerWord + 1) * kKeysPerWord, keys.end);
    visit(IndexRange{at, end});
  }
}

// Which of 64 bytes are not 0, the lowest bit for the first.
using NotZero64 = uint64_t (*)(const uint8_t* bytes);
uint64_t PlainNotZero64(const uint8_t* bytes);

// Bit b of word w stands for key first + 64 w + b; `first` is a multiple of 64.
struct KeyBits {
  int64_t first;
  uint64_t* words;
  NotZero64 not_zero = PlainNotZero64;  // the kernels have faster ones

  uint64_t& WordOf(int64_t key) const {
    return words[(key - first) / kKeysPerWord];
  }
  void Set(IndexRange keys) const {
    ForEachWord(keys, [&](IndexRange part) {
      WordOf(part.begin) |= LowBits(part.end - part.begin)
                            << (part.begin % kKeysPerWord);
    });
  }
  void Clear(IndexRange keys) const {
    ForEachWord(keys, [&](IndexRange part) {
      WordOf(part.begin) &=
          ~(LowBits(part.end - part.begin) << (part.begin % kKeysPerWord));
    });
  }
  // Leaves those of `keys` that `seen` has: seen(part) tells of up to 64 keys,
  // the lowest bit of the first one.
  template <typename Seen>
  void And(IndexRange keys, const Seen& seen) const {
    ForEachWord(keys, [&](IndexRange part) {
      const int64_t shift = part.begin % kKeysPerWord;
      const uint64_t all = LowBits(part.end - part.begin);
      WordOf(part.begin) &= ~((all & ~seen(part)) << shift);
    });
  }
};

// Classify of a pattern: row(query) is its row, which tells as above.
template <typename Row>
TileClass ClassifyPattern(const ScoreTile& tile, const Row& row) {
  const IndexRange keys = tile.keys;
  const bool first =
      (row(tile.queries.begin)({keys.begin, keys.begin + 1}) & 1) != 0;
  uint64_t differs = 0;
  for (int64_t q = tile.queries.begin; q < tile.queries.end; ++q) {
    const auto seen = row(q);
    ForEachWord(keys, [&](IndexRange part) {
      if (differs != 0) return;
      const uint64_t all = LowBits(part.end - part.begin);
      differs = (first ? ~seen(part) : seen(part)) & all;
    });
    if (differs != 0) return TileClass::kMixed;
  }
  return first ? TileClass::kFull : TileClass::kEmpty;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_MASK_KEY_BITS_H_
