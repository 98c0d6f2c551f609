#include "nn/gelu.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "nn/test_support.h"
#include "regard/nn.h"

namespace regard::inline v0 {
namespace {

double Exact(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

bool HasFma(SimdTarget target) {
  const std::string name = SimdTargetName(target);
  return name.rfind("AVX", 0) == 0;
}

std::vector<float> Grid() {
  std::vector<float> x;
  for (float v = -13.0f; v < 13.0f; v += 0.00037f) x.push_back(v);
  for (float v = 1e-38f; v < 1.0f; v *= 1.7f) {
    x.push_back(v);
    x.push_back(-v);
  }
  return x;
}

TEST(GeluTest, MatchesDoubleOnEveryTarget) {
  const std::vector<float> x = Grid();
  for (const SimdTarget target : UsableSimdTargets()) {
    std::vector<float> y = x;
    GeluOn(target, y.data(), static_cast<int64_t>(y.size()));
    double largest = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = Exact(x[i]);
      largest = std::max(largest, std::abs(y[i] - exact) / std::abs(exact));
    }
    // Measured: 3.5e-7, and 3.9e-6 without fused multiply-add, where the square
    // in the exponent is rounded.
    EXPECT_LT(largest, HasFma(target) ? 5e-7 : 6e-6) << SimdTargetName(target);
    EXPECT_GT(largest, 1e-8) << "the bound compares nothing";
  }
}

TEST(GeluTest, EdgesOnEveryTarget) {
  for (const SimdTarget target : UsableSimdTargets()) {
    std::vector<float> x = {0.0f,     -0.0f,     30.0f, -30.0f,
                            INFINITY, -INFINITY, NAN,   3.4e38f};
    GeluOn(target, x.data(), static_cast<int64_t>(x.size()));
    EXPECT_EQ(x[0], 0);
    EXPECT_EQ(x[1], 0);
    EXPECT_EQ(x[2], 30);
    EXPECT_EQ(x[3], 0);
    EXPECT_EQ(x[4], INFINITY);
    EXPECT_TRUE(std::isnan(x[5]));
    EXPECT_TRUE(std::isnan(x[6]));
    EXPECT_EQ(x[7], 3.4e38f);
  }
}

TEST(GeluTest, ElementsDoNotDependOnTheirPlaceOrThreads) {
  const Tensor x = RandomTensor({40000}, 1);
  Tensor all = x.Clone();
  Gelu(all.mutable_view(), 1);
  Tensor threaded = x.Clone();
  Gelu(threaded.mutable_view(), 3);
  EXPECT_TRUE(SameBits(all, threaded));
  for (const int64_t first : {1, 3, 17, 39999}) {
    Tensor part = Tensor::CopyOf(x.view().Slice(0, first, 40000));
    Gelu(part.mutable_view());
    EXPECT_TRUE(SameBits(part, all.view().Slice(0, first, 40000))) << first;
  }
  Tensor none(DType::kF32, {0});
  Gelu(none.mutable_view());
  Tensor doubles(DType::kF64, {3});
  EXPECT_EQ(MessageOf([&] { Gelu(doubles.mutable_view()); }),
            "Gelu: x is f64 [3], but has to be f32 and contiguous");
}

}  // namespace
}  // namespace regard::inline v0
