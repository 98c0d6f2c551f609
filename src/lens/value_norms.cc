#include "lens/value_norms.h"

#include <cmath>

#include "base/parallel_for.h"

namespace regard::inline v0 {
namespace {

// W_O^h transposed, [Dv, d_model]: the inner loop of Carried then runs over
// neighbours that do not depend on each other, which compilers vectorise.
std::vector<float> HeadProjection(const TensorView& output_projection,
                                  int64_t head, int64_t dv) {
  const TensorView w =
      output_projection.Slice(1, head * dv, (head + 1) * dv).Transposed(0, 1);
  const Tensor copy = Tensor::CopyOf(w);
  return {copy.As<float>(), copy.As<float>() + copy.NumElements()};
}

double NormOf(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * x[i];
  return std::sqrt(sum);
}

// y = W_O^h v_j.
void Carried(const std::vector<float>& projection, const float* v, int64_t dv,
             std::vector<float>& y) {
  const size_t d_model = y.size();
  std::fill(y.begin(), y.end(), 0.0f);
  for (int64_t d = 0; d < dv; ++d) {
    const float* row = projection.data() + d * d_model;
    for (size_t o = 0; o < d_model; ++o) y[o] += v[d] * row[o];
  }
}

}  // namespace

Tensor ValueNorms(const TensorView& v, const TensorView& output_projection,
                  int64_t heads, int threads) {
  const int64_t group = heads / v.shape[0];
  const int64_t keys = v.shape[1], dv = v.shape[2];
  Tensor norms(DType::kF32, {heads, keys});
  float* out = norms.AsMutable<float>();
  ParallelFor(heads, threads, [&](int64_t head, int) {
    const Tensor values = Tensor::CopyOf(v.Select(0, head / group));
    const float* rows = values.As<float>();
    if (!output_projection.given()) {
      for (int64_t j = 0; j < keys; ++j) {
        out[head * keys + j] = static_cast<float>(NormOf(rows + j * dv, dv));
      }
      return;
    }
    const std::vector<float> projection =
        HeadProjection(output_projection, head, dv);
    std::vector<float> y(output_projection.shape[0]);
    for (int64_t j = 0; j < keys; ++j) {
      Carried(projection, rows + j * dv, dv, y);
      out[head * keys + j] =
          static_cast<float>(NormOf(y.data(), output_projection.shape[0]));
    }
  });
  return norms;
}

}  // namespace regard::inline v0
