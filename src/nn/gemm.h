// The one matrix product of the modules, through oneDNN.
#ifndef REGARD_SRC_NN_GEMM_H_
#define REGARD_SRC_NN_GEMM_H_

#include <cstdint>

namespace regard::inline v0 {

struct GemmProblem {
  const float* x;       // [rows, in]
  const float* weight;  // [out_features, in]
  const float* bias;    // [out_features], or null
  float* out;           // [rows, out_features]
  int64_t rows, in, out_features;
};

// out = x weight^T + bias; everything contiguous f32.
//
// A row's result depends on that row and the weights only: same bits for any
// number of rows and threads. Error (kMemory), (kUnsupported: the CPU).
void MultiplyByTransposed(const GemmProblem& problem, int threads);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_GEMM_H_
