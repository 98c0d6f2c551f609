// What the multiply-add units of this machine can do, measured.
#ifndef REGARD_SRC_BENCH_FMA_PEAK_H_
#define REGARD_SRC_BENCH_FMA_PEAK_H_

#include <cstdint>

#include "regard/tensor.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

// Independent chains of multiply-adds with the vectors of `target`, `rounds`
// long, on each of `threads` threads: in double for kF64, in float for every
// other type (so 16-bit types are held against the float peak). Returns
// floating-point operations (2 per multiply-add and lane).
double RunFmaChains(DType dtype, SimdTarget target, int64_t rounds,
                    int threads);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_FMA_PEAK_H_
