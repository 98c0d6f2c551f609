#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "lens/link_row.h"
#include "regard/lens.h"

namespace regard::inline v0 {
namespace {

bool StrongerLink(const Link& a, const Link& b) {
  if (a.weight != b.weight) return a.weight > b.weight;
  return std::tie(a.head, a.query, a.key) < std::tie(b.head, b.query, b.key);
}

// Index of the largest value among those that take part, the first at a tie;
// -1 when there is none or one is NaN.
int64_t ArgMax(const std::vector<double>& values,
               const std::vector<bool>& tokens) {
  int64_t best = -1;
  for (size_t j = 0; j < values.size(); ++j) {
    if (!tokens[j]) continue;
    if (std::isnan(values[j])) return -1;
    if (best < 0 || values[j] > values[best]) best = static_cast<int64_t>(j);
  }
  return best;
}

void RequireFlags(const std::vector<bool>& tokens, int64_t size,
                  const char* what) {
  if (static_cast<int64_t>(tokens.size()) == size) return;
  throw Error(ErrorKind::kArgument, what,
              std::to_string(tokens.size()) + " flags for " +
                  std::to_string(size) + " tokens",
              "give one flag per token");
}

double WeightAt(const std::vector<double>& values, int64_t index) {
  return index < 0 ? std::numeric_limits<double>::quiet_NaN() : values[index];
}

}  // namespace

std::vector<Link> StrongestLinks(const AttentionMaps& maps,
                                 const std::vector<HeadId>& heads,
                                 const std::vector<bool>& tokens, int count) {
  RequireFlags(tokens, maps.queries(), "StrongestLinks: tokens");
  RequireFlags(tokens, maps.keys(), "StrongestLinks: tokens");
  const int64_t n = maps.keys();
  std::vector<Link> best;  // sorted, at most `count`
  for (const HeadId head : heads) {
    const float* map = maps.Map(head).As<float>();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (i == j || !tokens[i] || !tokens[j]) continue;
        const Link link = {head, i, j, map[i * n + j]};
        if (std::isnan(link.weight)) continue;
        best.insert(
            std::upper_bound(best.begin(), best.end(), link, StrongerLink),
            link);
        if (static_cast<int>(best.size()) > count) best.pop_back();
      }
    }
  }
  return best;
}

Link StrongestTarget(const AttentionMaps& maps, HeadId head, TokenRange from,
                     const std::vector<bool>& tokens) {
  RequireRange(from, maps.queries(), "StrongestTarget: from");
  RequireFlags(tokens, maps.keys(), "StrongestTarget: tokens");
  const std::vector<double> row = MeanRow(maps.Map(head), from);
  const int64_t key = ArgMax(row, tokens);
  return {head, from.first, key, WeightAt(row, key)};
}

Link StrongestSource(const AttentionMaps& maps, HeadId head, TokenRange to,
                     const std::vector<bool>& tokens) {
  RequireRange(to, maps.keys(), "StrongestSource: to");
  RequireFlags(tokens, maps.queries(), "StrongestSource: tokens");
  const TensorView map = maps.Map(head);
  std::vector<double> column(maps.queries());
  for (int64_t i = 0; i < maps.queries(); ++i) column[i] = MassOn(map, i, to);
  const int64_t query = ArgMax(column, tokens);
  return {head, query, to.first, WeightAt(column, query)};
}

}  // namespace regard::inline v0
