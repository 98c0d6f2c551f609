// The public calls on the smallest inputs that have a known answer.
#include "regard/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/compare.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> Values(const Tensor& t) {
  return {t.As<float>(), t.As<float>() + t.NumElements()};
}

// One batch entry, one head; q, k, v as [L, D] in `values`.
struct Arrays {
  Tensor q, k, v;
  Arrays(std::vector<float> q_values, std::vector<float> k_values,
         std::vector<float> v_values, int64_t d = 1, int64_t dv = 1)
      : q(Make(q_values, d)), k(Make(k_values, d)), v(Make(v_values, dv)) {}
  static Tensor Make(const std::vector<float>& values, int64_t size) {
    return Tensor::FromVector(
        values, {1, 1, static_cast<int64_t>(values.size()) / size, size});
  }
  AttentionProblem Problem() const {
    AttentionProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    return p;
  }
};

// Everything below holds for every kernel.
class AttendTest : public testing::TestWithParam<std::string> {
 protected:
  AttentionResult Run(const AttentionProblem& problem) {
    AttentionOptions options;
    options.kernel = GetParam();
    options.lse = options.weights = true;
    return Attend(problem, options);
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, AttendTest,
                         testing::ValuesIn(UsableKernels()),
                         [](const auto& info) { return info.param; });

// pytorch#103963: a row that sees nothing.
TEST_P(AttendTest, EmptyRowIsZero) {
  const Arrays a({1, 1}, {1, 1}, {2, 5});
  const bool allowed[] = {true, false, false, false};
  AttentionProblem p = a.Problem();
  p.mask = Mask::Boolean(TensorView(allowed, {2, 2}));
  const AttentionResult r = Run(p);
  EXPECT_THAT(Values(r.out), ElementsAre(2, 0));
  EXPECT_THAT(Values(r.weights), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Values(r.lse), ElementsAre(1, -kInf));
}

// pytorch#110213: the lowest finite bias is a value, not a mask.
TEST_P(AttendTest, LowestFiniteBiasHidesNothing) {
  const Arrays a({1}, {1, 2}, {0, 1});
  const float lowest = std::numeric_limits<float>::lowest();
  const float bias[] = {lowest, lowest};
  AttentionProblem p = a.Problem();
  p.bias = TensorView(bias, {2});
  const AttentionResult r = Run(p);
  EXPECT_THAT(Values(r.out), ElementsAre(0.5f));
  EXPECT_THAT(Values(r.weights), ElementsAre(0.5f, 0.5f));
}

TEST_P(AttendTest, MinusInfinityInTheBiasHides) {
  const Arrays a({1}, {1, 2}, {3, kNaN});
  const float bias[] = {0, -kInf};
  AttentionProblem p = a.Problem();
  p.bias = TensorView(bias, {1, 2});
  const AttentionResult r = Run(p);
  EXPECT_THAT(Values(r.out), ElementsAre(3));
  EXPECT_THAT(Values(r.weights), ElementsAre(1, 0));
}

// pytorch#101967: NaN behind the mask.
TEST_P(AttendTest, HiddenNaNHasNoEffect) {
  const Arrays a({1, 0}, {1, 0, kNaN, kNaN}, {2, 3, kNaN, kNaN}, 2, 2);
  const bool allowed[] = {true, false};
  AttentionProblem p = a.Problem();
  p.mask = Mask::Boolean(TensorView(allowed, {2}));
  const AttentionResult r = Run(p);
  EXPECT_THAT(Values(r.out), ElementsAre(2, 3));
}

TEST_P(AttendTest, LargeLogits) {
  const Arrays a({1000}, {1000, 999}, {4, 9});
  AttentionProblem p = a.Problem();
  p.scale = 1;
  EXPECT_THAT(Values(Run(p).out), ElementsAre(4));
}

TEST_P(AttendTest, ZeroAndNegativeScale) {
  const Arrays a({1, 1, 1, 1}, {5, 6, 7, 8}, {0, 1, 2, 3});
  AttentionProblem p = a.Problem();
  p.mask = Mask::Causal();
  p.scale = 0;
  EXPECT_THAT(Values(Run(p).out), ElementsAre(0, 0.5f, 1, 1.5f));
  const Arrays b({1}, {0, 1}, {0, 1});
  p = b.Problem();
  p.scale = -1;
  EXPECT_NEAR(Run(p).out.As<float>()[0], 0.26894142, 1e-7);
}

// vllm#56578: tanh must not overflow.
TEST_P(AttendTest, Softcap) {
  const Arrays a({1}, {5000, -10000, 100}, {1, 1, 1});
  AttentionProblem p = a.Problem();
  p.scale = 1;
  p.softcap = 50;
  for (const auto& [k, capped] :
       {std::pair{5000.0f, 50.0}, {-10000.0f, -50.0}, {100.0f, 48.2013790}}) {
    const float key[] = {k};
    p.k = TensorView(key, {1, 1, 1, 1});
    p.v = TensorView(key, {1, 1, 1, 1});
    EXPECT_NEAR(Run(p).lse.As<float>()[0], capped, 1e-5);
  }
}

// tensorflow#59657: scores and mask constants of half precision are added in
// f32, where -32 - 65504 is a number.
TEST_P(AttendTest, HalfPrecisionMaskConstants) {
  const Arrays f32({1}, {-32, -32}, {2, 4});
  const Tensor q = Converted(f32.q, DType::kF16);
  const Tensor k = Converted(f32.k, DType::kF16);
  const Tensor v = Converted(f32.v, DType::kF16);
  const Tensor bias =
      Converted(Tensor::FromVector({-65504, -65504}, {2}), DType::kF16);
  AttentionProblem p;
  p.q = q;
  p.k = k;
  p.v = v;
  p.scale = 1;
  p.bias = bias;
  const AttentionResult r = Run(p);
  EXPECT_THAT(Values(r.weights), ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(Values(Converted(r.out, DType::kF32)), ElementsAre(3));
}

// mistral#66: a dot product that f16 can't hold before it is scaled.
TEST_P(AttendTest, HalfPrecisionDotProducts) {
  const std::vector<float> large(64, 256), none(64, 0);
  std::vector<float> keys = large;
  keys.insert(keys.end(), none.begin(), none.end());
  const Arrays f32(large, keys, {5, 7}, 64);
  const Tensor q = Converted(f32.q, DType::kF16);
  const Tensor k = Converted(f32.k, DType::kF16);
  const Tensor v = Converted(f32.v, DType::kF16);
  AttentionProblem p;
  p.q = q;
  p.k = k;
  p.v = v;
  const AttentionResult r = Run(p);
  EXPECT_THAT(Values(r.lse), ElementsAre(524288));
  EXPECT_THAT(Values(Converted(r.out, DType::kF32)), ElementsAre(5));
}

// mlx#1980: masks and biases that broadcast are what they are written out.
TEST_P(AttendTest, BroadcastMasks) {
  constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 4, kKeys = 5;
  Tensor x(DType::kF32, {kBatch, kHeads, kQueries, 2});
  Tensor y(DType::kF32, {kBatch, kHeads, kKeys, 2});
  for (Tensor* t : {&x, &y}) {
    for (int64_t i = 0; i < t->NumElements(); ++i) {
      t->AsMutable<float>()[i] = static_cast<float>(i * 37 % 11) / 5;
    }
  }
  AttentionProblem p;
  p.q = x;
  p.k = p.v = y;
  const AttentionResult bare = Run(p);
  const Dims full = {kBatch, kHeads, kQueries, kKeys};
  const Dims shapes[] = {{1, 1, 1, kKeys},
                         {kBatch, 1, 1, kKeys},
                         {1, kHeads, kQueries, 1},
                         {kQueries, kKeys},
                         {kKeys},
                         {kBatch, 1, kQueries, kKeys}};
  for (const Dims& shape : shapes) {
    SCOPED_TRACE(ToString(shape));
    Tensor bias(DType::kF32, shape);
    Tensor allowed(DType::kBool, shape);
    for (int64_t i = 0; i < bias.NumElements(); ++i) {
      bias.AsMutable<float>()[i] = static_cast<float>(i * 7 % 5);
      allowed.AsMutable<bool>()[i] = i % 3 != 1;
    }
    // Written out: strides of 0 on the axes that broadcast, then copied.
    const auto written_out = [&](const Tensor& tensor) {
      Dims strides = full;
      const int missing = 4 - shape.size();
      for (int axis = 0; axis < 4; ++axis) {
        const int own = axis - missing;
        strides[axis] =
            own < 0 || shape[own] == 1 ? 0 : tensor.view().strides[own];
      }
      return Tensor::CopyOf(
          TensorView(tensor.view().data, tensor.dtype(), full, strides));
    };
    const Tensor full_bias = written_out(bias);
    const Tensor full_allowed = written_out(allowed);
    p.bias = bias;
    p.mask = Mask::Boolean(allowed);
    const AttentionResult broadcast = Run(p);
    p.bias = full_bias;
    p.mask = Mask::Boolean(full_allowed);
    const AttentionResult full_result = Run(p);
    EXPECT_TRUE(SameBits(broadcast.out, full_result.out));
    EXPECT_TRUE(SameBits(broadcast.weights, full_result.weights));
    EXPECT_GT(Compare(broadcast.weights, bare.weights).value, 0.01);
  }
}

// pytorch#108503: sequences of 3 and 2 side by side, in bf16.
TEST_P(AttendTest, DocumentsAreAsAlone) {
  const std::vector<float> numbers = {0.5f, 1, -1, 2, 0.25f};
  const Arrays f32(numbers, {1, -2, 0.5f, 3, 1}, {1, 2, 4, 8, 16});
  const Tensor q = Converted(f32.q, DType::kBF16);
  const Tensor k = Converted(f32.k, DType::kBF16);
  const Tensor v = Converted(f32.v, DType::kBF16);
  const int64_t ids[] = {0, 0, 0, 1, 1};
  const TensorView list(ids, {5});
  AttentionProblem p;
  p.q = q;
  p.k = k;
  p.v = v;
  p.mask = Mask::Documents(list, list);
  const AttentionResult both = Run(p);
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 5}}) {
    AttentionProblem alone;
    alone.q = q.view().Slice(2, begin, end);
    alone.k = k.view().Slice(2, begin, end);
    alone.v = v.view().Slice(2, begin, end);
    EXPECT_TRUE(SameBits(Run(alone).out, both.out.view().Slice(2, begin, end)));
  }
}

// pytorch#103082: two kinds of causal when Lq != Lk, and no silent default.
TEST_P(AttendTest, CausalCorners) {
  const Arrays a({1, 1}, {0, 0, 0}, {0, 6, 12});
  AttentionProblem p = a.Problem();
  p.mask = Mask::Causal();
  p.query_offset = QueryOffset::TopLeft();
  EXPECT_THAT(Values(Run(p).out), ElementsAre(0, 3));
  p.query_offset = QueryOffset::BottomRight();
  EXPECT_THAT(Values(Run(p).out), ElementsAre(3, 6));
  p.query_offset = QueryOffset::At(2);
  EXPECT_THAT(Values(Run(p).out), ElementsAre(6, 6));
  p.query_offset = QueryOffset::At(-1);
  EXPECT_THAT(Values(Run(p).out), ElementsAre(0, 0));
  p.query_offset.reset();
  try {
    Run(p);
    FAIL() << "a corner was guessed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Lq = 2, Lk = 3"));
  }
}

// transformers#39408, unsloth#8253: a window counts the query itself.
TEST_P(AttendTest, WindowCountsTheQueryItself) {
  const Arrays a({1, 1, 1, 1}, {0, 0, 0, 0}, {1, 2, 4, 8});
  AttentionProblem p = a.Problem();
  p.mask = Mask::Window(2, 0);
  EXPECT_THAT(Values(Run(p).out), ElementsAre(1, 1.5f, 3, 6));
  p.mask = Mask::Window(1, 0);
  EXPECT_THAT(Values(Run(p).out), ElementsAre(1, 2, 4, 8));
  p.mask = Mask::Window(std::nullopt, 1);
  EXPECT_THAT(Values(Run(p).out),
              ElementsAre(1.5f, testing::FloatEq(7 / 3.0f), 3.75f, 3.75f));
  for (const Mask& wrong : {Mask::Window(0, 0), Mask::Window(1, -1)}) {
    p.mask = wrong;
    EXPECT_THROW(Run(p), Error);
  }
}

TEST_P(AttendTest, WhatASinkThrowsIsPassedOn) {
  const Arrays a({1, 1, 1, 1}, {5, 6, 7, 8}, {0, 1, 2, 3});
  AttentionOptions options;
  options.kernel = GetParam();
  int calls = 0;
  ForEachWeightTile(a.Problem(), options, [&](const WeightTile&) { ++calls; });
  EXPECT_GT(calls, 0);
  EXPECT_THROW(ForEachWeightTile(
                   a.Problem(), options,
                   [](const WeightTile&) { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_THROW(ForEachWeightTile(a.Problem(), options, nullptr), Error);
}

// torchtitan#2211: a learned sink is in the denominator only.
TEST_P(AttendTest, SinkLogit) {
  const Arrays a({0, 0}, {1, 1}, {3, 6});
  AttentionProblem p = a.Problem();
  Tensor sink = Tensor::FromVector({0}, {1});
  p.sink_logit = sink;
  AttentionResult r = Run(p);
  EXPECT_NEAR(Values(r.out)[0], 3, 1e-6);
  EXPECT_NEAR(Values(r.weights)[1], 1 / 3.0, 1e-7);
  EXPECT_NEAR(Values(r.lse)[0], std::log(2.0), 1e-7);
  // One that is not there changes no bit.
  sink.AsMutable<float>()[0] = -kInf;
  r = Run(p);
  p.sink_logit = {};
  EXPECT_THAT(Values(r.out), ElementsAreArray(Values(Run(p).out)));
  EXPECT_THAT(Values(r.weights), ElementsAreArray(Values(Run(p).weights)));
  // Whatever its logit, an empty row stays 0 and a hidden key has no weight.
  const bool allowed[] = {true, false, false, false};
  p.mask = Mask::Boolean(TensorView(allowed, {2, 2}));
  p.sink_logit = sink;
  for (const float logit : {0.0f, -kInf, kInf, kNaN}) {
    sink.AsMutable<float>()[0] = logit;
    r = Run(p);
    EXPECT_EQ(Values(r.out)[1], 0);
    EXPECT_EQ(Values(r.lse)[1], -kInf);
    EXPECT_EQ(std::isnan(Values(r.out)[0]), std::isnan(logit));
    EXPECT_EQ(Values(r.weights)[1], 0);
    EXPECT_EQ(Values(r.weights)[2], 0);
  }
}

TEST_P(AttendTest, Alibi) {
  const Arrays a({0}, {1, 1, 1}, {1, 2, 4});
  AttentionProblem p = a.Problem();
  const Tensor slope = Tensor::FromVector({0.5f}, {1});
  p.alibi_slopes = slope;
  p.query_offset = QueryOffset::At(1);
  const double e = std::exp(-0.5);
  EXPECT_NEAR(Values(Run(p).out)[0], (e * 1 + 2 + e * 4) / (1 + 2 * e), 1e-6);
  // Biases too large for f32 are values, not masks.
  const Tensor steep = Tensor::FromVector({3e38f}, {1});
  p.alibi_slopes = steep;
  p.query_offset = QueryOffset::At(-100);
  EXPECT_GE(Values(Run(p).out)[0], 1);
}

// mlx#343, aprender#2143.
TEST(AlibiSlopesTest, AnyNumberOfHeads) {
  const auto slopes = [](int64_t heads) {
    const Tensor t = AlibiSlopes(heads);
    return std::vector<double>(t.As<double>(),
                               t.As<double>() + t.NumElements());
  };
  EXPECT_THAT(slopes(6),
              ElementsAre(0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125));
  EXPECT_EQ(slopes(8).front(), 0.5);
  EXPECT_EQ(slopes(8).back(), 0.00390625);
  EXPECT_THAT(slopes(1), ElementsAre(0.00390625));
  EXPECT_EQ(slopes(16)[0], std::exp2(-0.5));
  EXPECT_TRUE(slopes(0).empty());
  EXPECT_THROW(AlibiSlopes(-1), Error);
}

// onnx#7274: query head h uses kv head h / group.
TEST_P(AttendTest, GroupsAreContiguous) {
  const Tensor q(DType::kF32, {1, 4, 1, 1});
  const Tensor k(DType::kF32, {1, 2, 1, 1});
  const Tensor v = Tensor::FromVector({1, 2}, {1, 2, 1, 1});
  AttentionProblem p;
  p.q = q;
  p.k = k;
  p.v = v;
  EXPECT_THAT(Values(Run(p).out), ElementsAre(1, 1, 2, 2));
}

}  // namespace
}  // namespace regard::inline v0
