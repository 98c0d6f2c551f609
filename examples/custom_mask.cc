// A mask of one's own: every fourth of the last 2,048 keys, as dilated windows
// look (Longformer: Beltagy et al. 2020).
#include <cstdint>
#include <cstdio>
#include <memory>

#include "regard/attention.h"

namespace {

class DilatedWindow : public regard::MaskFunction {
 public:
  bool Allows(const regard::MaskFrame& frame, int64_t query,
              int64_t key) const noexcept override {
    const int64_t back = query + frame.offset - key;
    return back >= 0 && back < 2048 && back % 4 == 0;
  }
  // Optional. Without it all keys would be read and scored, to be hidden then.
  regard::IndexRange Range(const regard::MaskFrame& frame,
                           regard::IndexRange queries,
                           regard::IndexRange keys) const noexcept override {
    return keys & regard::IndexRange{queries.begin + frame.offset - 2047,
                                     queries.end + frame.offset};
  }
};

}  // namespace

int main() {
  // [B, H, L, D]: a head of 8,192 tokens, each of whose values is its position.
  regard::Tensor zeros(regard::DType::kF32, {1, 1, 8192, 16});
  regard::Tensor positions(regard::DType::kF32, {1, 1, 8192, 1});
  for (int64_t i = 0; i < 8192; ++i) {
    positions.AsMutable<float>()[i] = static_cast<float>(i);
  }
  regard::AttentionProblem problem;
  problem.q = problem.k = zeros;
  problem.v = positions;
  problem.mask = regard::Mask::Custom(std::make_shared<DilatedWindow>());

  const regard::AttentionPlan plan(problem);
  const regard::TileCounts tiles = plan.CountTiles(problem);
  const int64_t all = tiles.empty + tiles.mixed + tiles.full;
  std::printf("%.0f %% of the tiles are computed\n",
              100.0 * static_cast<double>(all - tiles.empty) /
                  static_cast<double>(all));
  // All weights alike: the mean of 8191, 8187, ... 6147.
  const regard::AttentionResult result = regard::Attend(problem);
  std::printf("the last query sees %g on the mean\n",
              static_cast<double>(result.out.As<float>()[8191]));
}
