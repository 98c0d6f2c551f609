#include "cli/map/data.h"

#include <set>
#include <utility>

#include "cli/text_layout.h"

namespace regard::inline v0 {

namespace {

// Rows and columns `tokens` of `map`; `hidden_mass` as in ShownMap.
Tensor Restricted(const TensorView& map, const std::vector<int64_t>& tokens,
                  bool renormalize, double& hidden_mass) {
  const int64_t keys = map.shape[1], n = static_cast<int64_t>(tokens.size());
  Tensor kept(DType::kF32, {n, n});
  float* out = kept.AsMutable<float>();
  hidden_mass = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = map.As<float>() + tokens[i] * keys;
    double all = 0, shown = 0;
    for (int64_t j = 0; j < keys; ++j) all += row[j];
    for (const int64_t j : tokens) shown += row[j];
    hidden_mass += (all - shown) / static_cast<double>(n);
    const double scale = renormalize && shown > 0 ? 1 / shown : 1;
    for (int64_t j = 0; j < n; ++j) {
      out[i * n + j] = static_cast<float>(row[tokens[j]] * scale);
    }
  }
  return kept;
}

}  // namespace

std::vector<MapGroup> GroupHeads(const std::vector<HeadId>& chosen,
                                 Averaging averaging) {
  std::vector<MapGroup> groups;
  for (const HeadId head : chosen) {
    HeadId label = head;
    if (averaging != Averaging::kNone) label.head = -1;
    if (averaging == Averaging::kAll) label.layer = -1;
    if (groups.empty() || groups.back().head != label) {
      groups.push_back({label, {}});
    }
    groups.back().members.push_back(head);
  }
  return groups;
}

std::string GroupName(const MapGroup& group) {
  if (group.head.head >= 0) return ToString(group.head);
  const std::string mean =
      "mean of " + Counted(static_cast<int64_t>(group.members.size()), "head");
  if (group.head.layer < 0) return mean;
  return "layer " + std::to_string(group.head.layer) + ", " + mean;
}

std::vector<HeadId> RectangleAround(const std::vector<HeadId>& chosen) {
  std::set<int> layers, heads;
  for (const HeadId head : chosen) {
    layers.insert(head.layer);
    heads.insert(head.head);
  }
  std::vector<HeadId> all;
  for (const int layer : layers) {
    for (const int head : heads) all.push_back({layer, head});
  }
  return all;
}

MapData BuildMaps(const AttentionMaps& maps,
                  const std::vector<MapGroup>& groups,
                  std::vector<int64_t> tokens, bool renormalize) {
  MapData data;
  data.tokens = std::move(tokens);
  const bool complete = static_cast<int64_t>(data.tokens.size()) == maps.keys();
  for (const MapGroup& group : groups) {
    ShownMap shown;
    shown.group = group;
    if (group.members.size() == 1) {
      shown.values = maps.Map(group.members[0]);
    } else {
      data.owned.push_back(AverageMap(maps, group.members));
      shown.values = data.owned.back().view();
    }
    if (!complete) {
      Tensor kept =
          Restricted(shown.values, data.tokens, renormalize, shown.hidden_mass);
      shown.values = kept.view();
      data.owned.push_back(std::move(kept));
    }
    data.maps.push_back(std::move(shown));
  }
  return data;
}

}  // namespace regard::inline v0
