#include "nn/elementwise.h"
#include "nn/input.h"
#include "nn/parameter_list.h"
#include "regard/nn.h"

namespace regard::inline v0 {

EncoderLayer::EncoderLayer(int64_t d_model, int64_t heads, int64_t d_hidden,
                           double eps)
    : attention(d_model, heads),
      norm1(d_model, eps),
      feed_forward(d_model, d_hidden),
      norm2(d_model, eps) {}

std::vector<NamedParameter> EncoderLayer::Parameters() {
  return Prefixed({{"attention", &attention},
                   {"norm1", &norm1},
                   {"feed_forward", &feed_forward},
                   {"norm2", &norm2}});
}

Tensor EncoderLayer::Forward(const TensorView& x,
                             const AttentionModuleOptions& options) const {
  const int threads = options.threads;
  const Rows rows("EncoderLayer", x, norm1.weight.shape()[0], "d_model");
  Tensor attended = attention.Forward(rows.view(), options).output;
  AddInPlace(attended, rows.view(), threads);
  const Tensor middle = norm1.Forward(attended, threads);
  Tensor out = feed_forward.Forward(middle, threads);
  AddInPlace(out, middle, threads);
  return norm2.Forward(out, threads);
}

}  // namespace regard::inline v0
