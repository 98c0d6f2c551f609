// How fast this machine reads memory, measured.
#ifndef REGARD_BENCH_STREAM_READ_H_
#define REGARD_BENCH_STREAM_READ_H_

#include <cstdint>
#include <span>

namespace regard::inline v0 {

// Sums the arrays, front to back, on `threads` threads, at the widest usable
// instruction set, fetching ahead.
void RunStreamRead(std::span<const std::span<const float>> arrays, int threads);

}  // namespace regard::inline v0

#endif  // REGARD_BENCH_STREAM_READ_H_
