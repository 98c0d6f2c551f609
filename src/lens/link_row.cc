#include "lens/link_row.h"

#include <cmath>
#include <limits>
#include <string>

namespace regard::inline v0 {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void RequireRange(TokenRange range, int64_t size, const char* what) {
  if (0 <= range.first && range.first <= range.last && range.last < size) {
    return;
  }
  throw Error(ErrorKind::kArgument, what,
              "tokens " + std::to_string(range.first) + " to " +
                  std::to_string(range.last) + " of " + std::to_string(size),
              "give first <= last, counted from 0");
}

std::vector<double> MeanRow(const TensorView& map, TokenRange from) {
  const int64_t keys = map.shape[1];
  const float* weights = map.As<float>();
  std::vector<double> row(keys, 0.0);
  for (int64_t i = from.first; i <= from.last; ++i) {
    for (int64_t j = 0; j < keys; ++j) row[j] += weights[i * keys + j];
  }
  for (double& a : row) a /= static_cast<double>(from.size());
  return row;
}

double MassOn(const TensorView& map, int64_t query, TokenRange to) {
  const float* row = map.As<float>() + query * map.shape[1];
  double mass = 0;
  for (int64_t j = to.first; j <= to.last; ++j) mass += row[j];
  return mass;
}

double Baseline(const TensorView& map, TokenRange from, TokenRange to) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < map.shape[0]; ++i) {
    if (from.Contains(i)) continue;
    sum += MassOn(map, i, to);
    ++count;
  }
  return count == 0 ? kNaN : sum / static_cast<double>(count);
}

UnitStanding StandingOf(const std::vector<double>& row, TokenRange to) {
  UnitStanding standing;
  for (int64_t j = to.first; j <= to.last; ++j) standing.weight += row[j];
  standing.rank = 1;
  standing.row_max = -1;
  const int64_t keys = static_cast<int64_t>(row.size());
  for (int64_t j = 0; j < keys; ++j) {
    if (to.Contains(j) && j != to.first) continue;
    const double unit = j == to.first ? standing.weight : row[j];
    if (std::isnan(unit)) return {standing.weight, 0, kNaN, -1};
    if (unit > standing.weight) ++standing.rank;
    if (unit > standing.row_max) {
      standing.row_max = unit;
      standing.row_argmax = j;
    }
  }
  return standing;
}

double CarriedShare(const std::vector<double>& row, const TensorView& norms,
                    TokenRange to) {
  if (!norms.given()) return kNaN;
  const float* norm = norms.As<float>();
  double share = 0, total = 0;
  for (int64_t j = 0; j < norms.shape[0]; ++j) {
    const double carried = row[j] * norm[j];
    total += carried;
    if (to.Contains(j)) share += carried;
  }
  return share / total;
}

}  // namespace regard::inline v0
