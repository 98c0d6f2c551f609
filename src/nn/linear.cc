#include "nn/gemm.h"
#include "nn/input.h"
#include "regard/nn.h"

namespace regard::inline v0 {

Linear::Linear(int64_t in_features, int64_t out_features, bool bias)
    : weight(Dims{out_features, in_features}) {
  if (bias) this->bias = Parameter(Dims{out_features});
}

std::vector<NamedParameter> Linear::Parameters() {
  std::vector<NamedParameter> all = {{"weight", &weight}};
  if (bias.given()) all.push_back({"bias", &bias});
  return all;
}

Tensor Linear::Forward(const TensorView& x, int threads) const {
  const Rows rows("Linear", x, in_features(), "in_features");
  RequireValues("Linear", weight, "weight");
  RequireValues("Linear", bias, "bias");
  Tensor out(DType::kF32, rows.ShapeWith(out_features()));
  const GemmProblem problem{.x = rows.data(),
                            .weight = weight.data(),
                            .bias = bias.given() ? bias.data() : nullptr,
                            .out = out.AsMutable<float>(),
                            .rows = rows.count(),
                            .in = in_features(),
                            .out_features = out_features()};
  MultiplyByTransposed(problem, threads);
  return out;
}

}  // namespace regard::inline v0
