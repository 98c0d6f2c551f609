// Memory that a loop will read soon.
#ifndef REGARD_SRC_ATTENTION_ROWS_AHEAD_H_
#define REGARD_SRC_ATTENTION_ROWS_AHEAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace regard::inline v0 {

// Rows with a few bits for each key. They are fetched bit by bit between the
// products of a tile, which wait for no memory; a loop over the rows would wait
// for most of them, which lie too far apart for the fetching of the hardware.
struct RowsAhead {
  const char* at = nullptr;  // first row, first key
  int64_t row_stride = 0;    // bytes
  int64_t key_bits = 0;      // 0: nothing
};

// Rows that are needed next: fetched a few lines at a time between the steps of
// products, in order of addresses, so that reading memory and computing take
// place at once.
class LinesAhead {
 public:
  // From some lines to the next ones.
  static constexpr int64_t kSteps = 8;

  // `count` rows of `bytes`, `stride` bytes apart.
  void Add(const std::byte* first, int64_t count, int64_t stride,
           int64_t bytes) {
    if (count <= 0 || bytes <= 0 || used_ == kMostRuns) return;
    runs_[used_++] = {first, count, stride, bytes};
    lines_ += count * ((bytes + kLineBytes - 1) / kLineBytes);
  }

  // So many steps will be taken.
  void Spread(int64_t steps) {
    at_once_ = std::min(kMostAtOnce,
                        lines_ * kSteps / std::max<int64_t>(steps, 1) + 1);
  }

  // Fetches some lines; returns how many of `steps` to take before the next
  // ones.
  int64_t Begin(int64_t steps) {
    if (lines_ <= 0) return steps;
    lines_ -= at_once_;
    for (int64_t i = 0; i < at_once_; ++i) {
      if (left_ <= 0 && !NextRow()) break;
      __builtin_prefetch(line_, 0, 3);
      line_ += kLineBytes;
      left_ -= kLineBytes;
    }
    return std::min(steps, kSteps);
  }

 private:
  static constexpr int64_t kLineBytes = 64;
  static constexpr int kMostRuns = 3;
  // As many lines as a core can wait for at once.
  static constexpr int64_t kMostAtOnce = 24;

  struct Run {
    const std::byte* next;
    int64_t count, stride, bytes;
  };

  bool NextRow() {
    while (at_ < used_ && runs_[at_].count == 0) ++at_;
    if (at_ == used_) return false;
    Run& run = runs_[at_];
    line_ = run.next;
    left_ = run.bytes;
    run.next += run.stride;
    --run.count;
    return true;
  }

  Run runs_[kMostRuns];
  int used_ = 0, at_ = 0;
  int64_t lines_ = 0, at_once_ = 0;
  const std::byte* line_ = nullptr;
  int64_t left_ = 0;  // bytes of the row in work
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ROWS_AHEAD_H_
