#include "regard/lens.h"

namespace regard::inline v0 {

Tensor AverageMap(const AttentionMaps& maps, const std::vector<HeadId>& heads) {
  if (heads.empty()) {
    throw Error(ErrorKind::kArgument, "AverageMap: heads", "the list is empty",
                "give at least one head");
  }
  const int64_t cells = maps.queries() * maps.keys();
  std::vector<double> sum(cells, 0.0);
  for (const HeadId head : heads) {
    const float* map = maps.Map(head).As<float>();
    for (int64_t c = 0; c < cells; ++c) sum[c] += map[c];
  }
  Tensor mean(DType::kF32, {maps.queries(), maps.keys()});
  float* out = mean.AsMutable<float>();
  for (int64_t c = 0; c < cells; ++c) {
    out[c] = static_cast<float>(sum[c] / static_cast<double>(heads.size()));
  }
  return mean;
}

}  // namespace regard::inline v0
