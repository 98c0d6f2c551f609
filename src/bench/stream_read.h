// How fast this machine reads memory, measured.
#ifndef REGARD_SRC_BENCH_STREAM_READ_H_
#define REGARD_SRC_BENCH_STREAM_READ_H_

#include <cstddef>
#include <span>

#include "tensor/simd_target.h"

namespace regard::inline v0 {

using ByteSpan = std::span<const std::byte>;

// Sums the arrays, front to back, on `threads` threads, with the vectors of
// `target`, fetching ahead.
void RunStreamRead(std::span<const ByteSpan> arrays, SimdTarget target,
                   int threads);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_STREAM_READ_H_
