#include "nn/parameter_list.h"
#include "regard/nn.h"

namespace regard::inline v0 {

FeedForward::FeedForward(int64_t d_model, int64_t d_hidden)
    : up(d_model, d_hidden), down(d_hidden, d_model) {}

std::vector<NamedParameter> FeedForward::Parameters() {
  return Prefixed({{"up", &up}, {"down", &down}});
}

Tensor FeedForward::Forward(const TensorView& x, int threads) const {
  Tensor hidden = up.Forward(x, threads);
  Gelu(hidden.mutable_view(), threads);
  return down.Forward(hidden, threads);
}

}  // namespace regard::inline v0
