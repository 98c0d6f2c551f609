// Memory that a loop will read soon.
#ifndef REGARD_SRC_ATTENTION_ROWS_AHEAD_H_
#define REGARD_SRC_ATTENTION_ROWS_AHEAD_H_

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

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ROWS_AHEAD_H_
