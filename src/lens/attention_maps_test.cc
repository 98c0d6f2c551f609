#include <gtest/gtest.h>

#include <cmath>

#include "lens/test_maps.h"
#include "regard/attention.h"

namespace regard::inline v0 {
namespace {

// An attention call over random numbers: Hq = 4, Hkv = 2, D = 3, Dv = 2,
// d_model = 6.
struct Call {
  explicit Call(unsigned seed, int64_t queries = 5, int64_t batch = 1,
                int64_t keys = 5) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](const Dims& shape) {
      Tensor t(DType::kF32, shape);
      for (int64_t i = 0; i < t.NumElements(); ++i) {
        t.AsMutable<float>()[i] = normal(random);
      }
      return t;
    };
    q = fill({batch, 4, queries, 3});
    k = fill({batch, 2, keys, 3});
    v = fill({batch, 2, keys, 2});
    out_projection = fill({6, 8});
    problem.q = q;
    problem.k = k;
    problem.v = v;
  }
  AttentionCall At(int layer) const {
    AttentionCall call;
    call.layer = layer;
    call.problem = &problem;
    call.output_projection = out_projection;
    return call;
  }
  Tensor q, k, v, out_projection;
  AttentionProblem problem;
};

// All weights of head h, [queries, keys].
std::vector<double> Softmax(const Call& c, int64_t h, bool causal) {
  const int64_t queries = c.q.dim(2), keys = c.k.dim(2);
  std::vector<double> weights(queries * keys, 0.0);
  for (int64_t i = 0; i < queries; ++i) {
    double total = 0;
    for (int64_t j = 0; j < (causal ? i + 1 : keys); ++j) {
      double s = 0;
      for (int64_t d = 0; d < 3; ++d) {
        s += double{c.q.As<float>()[(h * queries + i) * 3 + d]} *
             c.k.As<float>()[((h / 2) * keys + j) * 3 + d];
      }
      total += weights[i * keys + j] = std::exp(s / std::sqrt(3.0));
    }
    for (int64_t j = 0; j < keys; ++j) weights[i * keys + j] /= total;
  }
  return weights;
}

// 700 keys are several tiles of any kernel.
TEST(AttentionMapsTest, KeepsEveryWeight) {
  for (const int64_t n : {1, 5, 700}) {
    for (const bool causal : {false, true}) {
      Call call(1, n, 1, n);
      if (causal) call.problem.mask = Mask::Causal();
      AttentionMaps maps;
      maps.OnAttention(call.At(0));
      ASSERT_EQ(maps.layers(), 1);
      ASSERT_EQ(maps.heads(), 4);
      for (int h = 0; h < 4; ++h) {
        const float* map = maps.Map({0, h}).As<float>();
        const std::vector<double> want = Softmax(call, h, causal);
        for (int64_t c = 0; c < n * n; ++c) {
          ASSERT_NEAR(map[c], want[c], 1e-6) << n << " " << h << " " << c;
        }
      }
      EXPECT_FALSE(maps.ValueNorms({0, 0}).given());
    }
  }
}

TEST(AttentionMapsTest, NormsAreThoseOfTheProjectedValues) {
  const Call call(2);
  AttentionMaps maps(/*value_norms=*/true, 2);
  maps.OnAttention(call.At(0));
  for (int h = 0; h < 4; ++h) {
    for (int64_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (int64_t o = 0; o < 6; ++o) {
        double y = 0;
        for (int64_t d = 0; d < 2; ++d) {
          y += double{call.out_projection.As<float>()[o * 8 + h * 2 + d]} *
               call.v.As<float>()[((h / 2) * 5 + j) * 2 + d];
        }
        sum += y * y;
      }
      EXPECT_NEAR(maps.ValueNorms({0, h}).As<float>()[j], std::sqrt(sum), 1e-5);
    }
  }
}

TEST(AttentionMapsTest, WithoutProjectionTheValueItself) {
  const Call call(3);
  AttentionCall bare = call.At(0);
  bare.output_projection = {};
  AttentionMaps maps(true);
  maps.OnAttention(bare);
  const float* v = call.v.As<float>() + (1 * 5 + 4) * 2;
  EXPECT_NEAR(maps.ValueNorms({0, 3}).As<float>()[4], std::hypot(v[0], v[1]),
              1e-6);
}

TEST(AttentionMapsTest, LayersInOrderAndLayerZeroBeginsAnew) {
  const Call a(4), b(5), other(6, /*queries=*/3), batch(7, 5, 2);
  AttentionMaps maps;
  maps.OnAttention(a.At(0));
  EXPECT_THROW(maps.OnAttention(b.At(2)), Error);
  EXPECT_THROW(maps.OnAttention(other.At(1)), Error);
  maps.OnAttention(b.At(1));
  EXPECT_EQ(maps.layers(), 2);
  EXPECT_EQ(maps.AllHeads().size(), 8u);
  EXPECT_THROW(maps.Map({2, 0}), Error);
  EXPECT_THROW(maps.Map({0, 4}), Error);
  EXPECT_THROW(maps.Map({-1, 0}), Error);
  maps.OnAttention(other.At(0));
  EXPECT_EQ(maps.layers(), 1);
  EXPECT_EQ(maps.queries(), 3);
  EXPECT_THROW(maps.OnAttention(batch.At(0)), Error);
}

TEST(AttentionMapsTest, SequencesOfTheirOwnLengthsAreRefused) {
  const int64_t starts[3] = {0, 2, 5};
  Call call(8);
  call.problem.query_starts = call.problem.key_starts = TensorView(starts, {3});
  AttentionMaps maps;
  EXPECT_THROW(maps.OnAttention(call.At(0)), Error);
  EXPECT_EQ(maps.layers(), 0);
}

TEST(AttentionMapsTest, MapsFromElsewhereMustFitTogether) {
  std::vector<Tensor> weights, norms;
  weights.push_back(Tensor(DType::kF32, {2, 3, 3}));
  weights.push_back(Tensor(DType::kF32, {2, 3, 4}));
  EXPECT_THROW(AttentionMaps(std::move(weights)), Error);
  weights.clear();
  weights.push_back(Tensor(DType::kF32, {2, 3, 3}));
  norms.push_back(Tensor(DType::kF32, {2, 4}));
  EXPECT_THROW(AttentionMaps(std::move(weights), std::move(norms)), Error);
}

TEST(HeadIdTest, PrintedAsTyped) {
  EXPECT_EQ(ToString(HeadId{4, 11}), "L4H11");
}

}  // namespace
}  // namespace regard::inline v0
