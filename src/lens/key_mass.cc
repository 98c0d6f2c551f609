#include "regard/lens.h"

namespace regard::inline v0 {
namespace {

// Sums of one row: over the chosen keys and over all, plain and times the norm.
struct RowSums {
  double weight = 0, all_weight = 0, norm = 0, all_norm = 0;
};

RowSums SumRow(const float* row, const float* norms,
               const std::vector<bool>& tokens) {
  RowSums sums;
  for (size_t j = 0; j < tokens.size(); ++j) {
    const double weight = row[j];
    const double carried = norms == nullptr ? 0 : weight * norms[j];
    sums.all_weight += weight;
    sums.all_norm += carried;
    if (!tokens[j]) continue;
    sums.weight += weight;
    sums.norm += carried;
  }
  return sums;
}

}  // namespace

KeyMass MassOnKeys(const AttentionMaps& maps, HeadId head,
                   const std::vector<bool>& tokens) {
  if (static_cast<int64_t>(tokens.size()) != maps.keys()) {
    throw Error(ErrorKind::kArgument, "MassOnKeys: tokens",
                std::to_string(tokens.size()) + " flags for " +
                    std::to_string(maps.keys()) + " keys",
                "give one flag per key");
  }
  const float* map = maps.Map(head).As<float>();
  const TensorView norm_view = maps.ValueNorms(head);
  const float* norms = norm_view.given() ? norm_view.As<float>() : nullptr;
  KeyMass mass;
  int64_t seeing = 0;
  for (int64_t i = 0; i < maps.queries(); ++i) {
    const RowSums sums = SumRow(map + i * maps.keys(), norms, tokens);
    if (sums.all_weight == 0) continue;  // an empty row
    ++seeing;
    mass.weight += sums.weight / sums.all_weight;
    mass.norm += sums.norm / sums.all_norm;
  }
  mass.weight /= static_cast<double>(seeing);
  mass.norm /= static_cast<double>(seeing);
  return mass;
}

KeyMass MassOnKeys(const AttentionMaps& maps, const std::vector<HeadId>& heads,
                   const std::vector<bool>& tokens) {
  KeyMass mean;
  for (const HeadId head : heads) {
    const KeyMass mass = MassOnKeys(maps, head, tokens);
    mean.weight += mass.weight;
    mean.norm += mass.norm;
  }
  mean.weight /= static_cast<double>(heads.size());
  mean.norm /= static_cast<double>(heads.size());
  return mean;
}

}  // namespace regard::inline v0
