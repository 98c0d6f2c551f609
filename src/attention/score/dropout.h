// Which weights dropout sets to 0.
#ifndef REGARD_SRC_ATTENTION_SCORE_DROPOUT_H_
#define REGARD_SRC_ATTENTION_SCORE_DROPOUT_H_

#include <array>
#include <cstdint>

#include "attention/philox.h"
#include "regard/attention.h"

namespace regard::inline v0 {

// Keys whose words come from one counter.
inline constexpr int64_t kKeysPerCounter = 4;

// All that one row of weights needs.
struct DropoutRow {
  std::array<uint32_t, 2> key;
  uint32_t query, head, sequence;
  uint32_t threshold;  // of the words that are dropped

  std::array<uint32_t, 4> Counter(int64_t key_index) const {
    return {static_cast<uint32_t>(key_index / kKeysPerCounter), query, head,
            sequence};
  }
};

inline DropoutRow DropoutRowOf(const Dropout& dropout, int64_t sequence,
                               int64_t head, int64_t query) {
  const int64_t id = dropout.sequence_ids.empty()
                         ? sequence
                         : dropout.sequence_ids[static_cast<size_t>(sequence)];
  return {{static_cast<uint32_t>(dropout.seed),
           static_cast<uint32_t>(dropout.seed >> 32)},
          static_cast<uint32_t>(query),
          static_cast<uint32_t>(head),
          static_cast<uint32_t>(id),
          static_cast<uint32_t>(dropout.p * 0x1p32)};
}

inline bool IsDropped(const DropoutRow& row, int64_t key_index) {
  const size_t word = static_cast<size_t>(key_index % kKeysPerCounter);
  return Philox4x32(row.Counter(key_index), row.key)[word] < row.threshold;
}

// What the weights that stay are multiplied by.
inline double KeptScale(const Dropout& dropout) { return 1 / (1 - dropout.p); }

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_DROPOUT_H_
