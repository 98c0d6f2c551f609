// Random numbers without a state: any of them at any time, in any order.
#ifndef REGARD_SRC_ATTENTION_PHILOX_H_
#define REGARD_SRC_ATTENTION_PHILOX_H_

#include <array>
#include <cstdint>

namespace regard::inline v0 {

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers:
// as easy as 1, 2, 3"): the constants of a round, and how the key moves on.
struct Philox {
  static constexpr int kRounds = 10;
  static constexpr uint32_t kMultiplier0 = 0xD2511F53;
  static constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9;
  static constexpr uint32_t kWeyl1 = 0xBB67AE85;
};

// The four words of one counter.
inline std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < Philox::kRounds; ++round) {
    const uint64_t a = uint64_t{Philox::kMultiplier0} * counter[0];
    const uint64_t b = uint64_t{Philox::kMultiplier1} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key = {key[0] + Philox::kWeyl0, key[1] + Philox::kWeyl1};
  }
  return counter;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PHILOX_H_
