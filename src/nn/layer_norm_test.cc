#include "nn/layer_norm.h"

#include <gtest/gtest.h>

#include <vector>

#include "nn/test_support.h"
#include "regard/nn.h"

namespace regard::inline v0 {
namespace {

struct Row {
  std::vector<float> x, gain, bias;
};

Row RandomRow(int64_t size, double mean, double scale) {
  Row row;
  const Tensor values = RandomTensor({3, size}, 5);
  for (int64_t i = 0; i < size; ++i) {
    const float* const v = values.As<float>() + i;
    row.x.push_back(static_cast<float>(mean + scale * v[0]));
    row.gain.push_back(v[size]);
    row.bias.push_back(v[2 * size]);
  }
  return row;
}

std::vector<double> Exact(const Row& row, double eps) {
  const size_t n = row.x.size();
  long double mean = 0, variance = 0;
  for (const float x : row.x) mean += x;
  mean /= static_cast<long double>(n);
  for (const float x : row.x) variance += (x - mean) * (x - mean);
  variance /= static_cast<long double>(n);
  std::vector<double> out(n);
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<double>((row.x[i] - mean) / std::sqrt(variance + eps) *
                                     row.gain[i] +
                                 row.bias[i]);
  }
  return out;
}

void Check(SimdTarget target, const Row& row, double eps) {
  std::vector<float> out(row.x.size(), NAN);
  LayerNormOn(target, {.x = row.x.data(),
                       .gain = row.gain.data(),
                       .bias = row.bias.data(),
                       .out = out.data(),
                       .size = static_cast<int64_t>(row.x.size()),
                       .eps = eps});
  const std::vector<double> exact = Exact(row, eps);
  for (size_t i = 0; i < out.size(); ++i) {
    // One rounding to f32.
    ASSERT_NEAR(out[i], exact[i], 6e-8 * std::abs(exact[i]) + 1e-12)
        << SimdTargetName(target) << " size " << out.size() << " at " << i;
  }
}

TEST(LayerNormTest, MatchesLongDoubleOnEveryTarget) {
  for (const SimdTarget target : UsableSimdTargets()) {
    for (const int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 35, 384}) {
      Check(target, RandomRow(size, 0.3, 2), 1e-5);
      // Where f32 sums lose everything: a mean far from 0, squares beyond f32.
      Check(target, RandomRow(size, 1e4, 1), 1e-12);
      Check(target, RandomRow(size, 0, 1e30), 1e-12);
    }
    Check(target, RandomRow(0, 0, 1), 1e-5);
  }
}

TEST(LayerNormTest, ConstantRowIsTheBias) {
  LayerNorm norm(4, 1e-12);
  norm.bias.Assign(Tensor::FromVector({1, 2, 3, 4}, {4}));
  const Tensor x = Tensor::FromVector({7, 7, 7, 7}, {1, 4});
  EXPECT_TRUE(SameBits(norm.Forward(x).view().Select(0, 0), norm.bias.view()));
}

TEST(LayerNormTest, RowsDependOnNothingElse) {
  const LayerNorm norm(29);
  const Tensor x = RandomTensor({1200, 29}, 1);
  const Tensor all = norm.Forward(x, 1);
  EXPECT_TRUE(SameBits(all, norm.Forward(x, 5)));
  Tensor poisoned = x.Clone();
  poisoned.AsMutable<float>()[3] = NAN;
  const Tensor out = norm.Forward(poisoned);
  for (int64_t i = 0; i < 29; ++i) EXPECT_TRUE(std::isnan(out.As<float>()[i]));
  EXPECT_TRUE(
      SameBits(all.view().Slice(0, 1, 1200), out.view().Slice(0, 1, 1200)));
  EXPECT_EQ(norm.Forward(RandomTensor({2, 0, 29}, 1)).shape(),
            (Dims{2, 0, 29}));
}

TEST(LayerNormTest, MistakesAreNamed) {
  EXPECT_EQ(MessageOf([] {
              LayerNorm(3).Forward(RandomTensor({2, 4}, 1));
            }),
            "LayerNorm: the input is [2, 4], but its last axis has to be "
            "size = 3");
  EXPECT_THROW(LayerNorm(3, -1e-5), Error);
  EXPECT_THROW(LayerNorm(3, NAN), Error);
}

}  // namespace
}  // namespace regard::inline v0
