// What the multiply-add units of this machine can do, measured.
#ifndef REGARD_BENCH_FMA_PEAK_H_
#define REGARD_BENCH_FMA_PEAK_H_

#include <cstdint>

namespace regard::inline v0 {

// Independent chains of f32 multiply-adds at the widest usable instruction set,
// `rounds` long, on each of `threads` threads. Returns floating-point
// operations (2 per multiply-add and lane).
double RunFmaChains(int64_t rounds, int threads);

}  // namespace regard::inline v0

#endif  // REGARD_BENCH_FMA_PEAK_H_
