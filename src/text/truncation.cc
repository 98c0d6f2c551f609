#include "text/truncation.h"

#include <algorithm>

namespace regard::inline v0 {

std::pair<int64_t, int64_t> KeptTokens(int64_t first, int64_t second,
                                       int64_t limit) {
  if (first + second <= limit) return {first, second};
  const int64_t half = limit / 2;
  if (first > second) {
    const int64_t kept = std::min(second, half);
    return {limit - kept, kept};
  }
  const int64_t kept = std::min(first, half);
  return {kept, limit - kept};
}

}  // namespace regard::inline v0
