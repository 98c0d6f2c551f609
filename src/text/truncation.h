// How many tokens of each sentence stay when both have to fit a limit.
#ifndef REGARD_SRC_TEXT_TRUNCATION_H_
#define REGARD_SRC_TEXT_TRUNCATION_H_

#include <cstdint>
#include <utility>

namespace regard::inline v0 {

// The longer sentence loses tokens first; once both are equally long, both
// lose. The odd token stays with the longer one, of equals with the second.
// Lengths and limit are not negative.
std::pair<int64_t, int64_t> KeptTokens(int64_t first, int64_t second,
                                       int64_t limit);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_TRUNCATION_H_
