// NaN, infinities, overflow, and what is exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/compare.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

// q, k, v of one head, everything 1 except what a test sets: more keys than a
// key block, more queries than a strip.
class SpecialValuesTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  static constexpr int64_t kQueries = 30, kKeys = 700, kDepth = 5, kSize = 35;

  SpecialValuesTest() {
    for (Tensor* tensor : {&q_, &k_, &v_}) {
      for (int64_t i = 0; i < tensor->NumElements(); ++i) {
        tensor->AsMutable<float>()[i] =
            static_cast<float>((i * 7919) % 101) / 64 - 0.75f;
      }
    }
    problem_.q = q_;
    problem_.k = k_;
    problem_.v = v_;
  }

  AttentionResult Run() { return Attend(problem_, OptionsFor(GetParam())); }
  void SetKey(int64_t j, float value) {
    for (int64_t d = 0; d < kDepth; ++d) {
      k_.AsMutable<float>()[j * kDepth + d] = value;
    }
  }
  void SetValue(int64_t j, int64_t e, float value) {
    v_.AsMutable<float>()[j * kSize + e] = value;
  }
  static float Out(const AttentionResult& r, int64_t i, int64_t e) {
    return r.out.As<float>()[i * kSize + e];
  }

  Tensor q_{DType::kF32, {1, 1, kQueries, kDepth}};
  Tensor k_{DType::kF32, {1, 1, kKeys, kDepth}};
  Tensor v_{DType::kF32, {1, 1, kKeys, kSize}};
  AttentionProblem problem_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, SpecialValuesTest,
                         testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

// A score of NaN or +infinity makes its row NaN and no other.
TEST_P(SpecialValuesTest, VisibleNaNScore) {
  for (const float bad : {kNaN, kInf}) {
    for (const int64_t row : {0, 13, 29}) {
      Tensor bias(DType::kF32, {kQueries, kKeys});
      const AttentionResult clean = [&] {
        problem_.bias = bias;
        return Run();
      }();
      for (const int64_t key : {0, 17, 511, 512, 699}) {
        bias.AsMutable<float>()[row * kKeys + key] = bad;
        const AttentionResult r = Run();
        for (int64_t i = 0; i < kQueries; ++i) {
          ASSERT_EQ(std::isnan(r.lse.As<float>()[i]), i == row);
          ASSERT_EQ(std::isnan(Out(r, i, 0)), i == row);
          ASSERT_EQ(std::isnan(Out(r, i, kSize - 1)), i == row);
          ASSERT_EQ(std::isnan(r.weights.As<float>()[i * kKeys + 3]), i == row);
          if (i == row) continue;
          ASSERT_EQ(Out(r, i, 7), Out(clean, i, 7));
        }
        bias.AsMutable<float>()[row * kKeys + key] = 0;
      }
    }
  }
}

// In a row of NaN, hidden keys keep weight 0.
TEST_P(SpecialValuesTest, HiddenKeysOfANaNRow) {
  problem_.mask = Mask::Causal();
  problem_.query_offset = QueryOffset::TopLeft();
  SetKey(3, kNaN);
  const AttentionResult r = Run();
  for (int64_t i = 0; i < kQueries; ++i) {
    for (int64_t j = 0; j < kKeys; ++j) {
      const float weight = r.weights.As<float>()[i * kKeys + j];
      ASSERT_EQ(std::isnan(weight), i >= 3 && j <= i) << i << " " << j;
      ASSERT_TRUE(j <= i || weight == 0);
    }
  }
}

// A score of -infinity is a weight of 0; a row of them is empty.
TEST_P(SpecialValuesTest, MinusInfinity) {
  Tensor bias(DType::kF32, {kQueries, kKeys});
  for (int64_t j = 0; j < kKeys; ++j) {
    bias.AsMutable<float>()[4 * kKeys + j] = -kInf;
    bias.AsMutable<float>()[5 * kKeys + j] = j == 600 ? 0 : -kInf;
  }
  SetValue(7, 2, kNaN);
  problem_.bias = bias;
  const AttentionResult r = Run();
  for (int64_t e = 0; e < kSize; ++e) {
    EXPECT_EQ(Out(r, 4, e), 0);
    EXPECT_EQ(Out(r, 5, e), v_.As<float>()[600 * kSize + e]);
    EXPECT_EQ(std::isnan(Out(r, 6, e)), e == 2);
  }
  EXPECT_EQ(r.lse.As<float>()[4], -kInf);
  EXPECT_EQ(r.weights.As<float>()[4 * kKeys + 1], 0);
  EXPECT_EQ(r.weights.As<float>()[5 * kKeys + 600], 1);
}

// pytorch#101967: a value that isn't finite reaches the rows that see it, in
// its column, and no other.
TEST_P(SpecialValuesTest, ValuesThatAreNotFinite) {
  problem_.mask = Mask::Causal();
  problem_.query_offset = QueryOffset::TopLeft();
  const AttentionResult clean = Run();
  for (const float bad : {kNaN, kInf, -kInf}) {
    SetValue(9, 33, bad);
    SetValue(650, 1, bad);  // seen by nobody
    const AttentionResult r = Run();
    EXPECT_TRUE(SameBits(r.lse, clean.lse));
    EXPECT_TRUE(SameBits(r.weights, clean.weights));
    for (int64_t i = 0; i < kQueries; ++i) {
      for (int64_t e = 0; e < kSize; ++e) {
        if (i >= 9 && e == 33) {
          ASSERT_FALSE(std::isfinite(Out(r, i, e)));
        } else {
          ASSERT_EQ(Out(r, i, e), Out(clean, i, e)) << i << " " << e;
        }
      }
    }
  }
}

// A row with one visible key gives its v, bit for bit: large, denormal, -0.
TEST_P(SpecialValuesTest, OneVisibleKeyIsExact) {
  problem_.mask = Mask::Window(1, 0);
  problem_.query_offset = QueryOffset::At(500);
  problem_.scale = 1e4;
  const float values[] = {kMax, -kMax,    1e-45f, -1e-39f,
                          0.1f, 1 / 3.0f, 0.0f,   -0.0f};
  for (int64_t i = 0; i < kQueries; ++i) {
    for (int64_t e = 0; e < kSize; ++e) {
      SetValue(500 + i, e, values[(i + e) % 8]);
    }
  }
  const AttentionResult r = Run();
  EXPECT_TRUE(SameBits(r.out, v_.view().Slice(2, 500, 500 + kQueries)));

  // The same keys shown by a bias.
  Tensor bias(DType::kF32, {kQueries, kKeys});
  for (int64_t i = 0; i < kQueries; ++i) {
    for (int64_t j = 0; j < kKeys; ++j) {
      bias.AsMutable<float>()[i * kKeys + j] = j == 500 + i ? 1 : -kInf;
    }
  }
  problem_.mask = Mask::Full();
  problem_.bias = bias;
  EXPECT_TRUE(SameBits(Run().out, r.out));
}

// An empty row is +0.
TEST_P(SpecialValuesTest, EmptyRowsArePositiveZeros) {
  problem_.mask = Mask::Causal();
  problem_.query_offset = QueryOffset::At(-4);
  for (int64_t j = 0; j < kKeys; ++j) SetValue(j, 2, -0.0f);
  const AttentionResult r = Run();
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t e = 0; e < kSize; ++e) {
      ASSERT_FALSE(std::signbit(Out(r, i, e))) << i << " " << e;
    }
  }
}

// A mean of values is finite where their sum is not, and the other columns keep
// their bits.
TEST_P(SpecialValuesTest, LargeValues) {
  const AttentionResult small = Run();
  for (int64_t j = 0; j < kKeys; ++j) {
    SetValue(j, 3, 0.9f * kMax);
    SetValue(j, 34, v_.As<float>()[j * kSize + 34] * 0x1p126f);
  }
  const AttentionResult r = Run();
  for (int64_t i = 0; i < kQueries; ++i) {
    ASSERT_NEAR(Out(r, i, 3) / (0.9f * kMax), 1, 1e-6);
    ASSERT_NEAR(Out(r, i, 34) / 0x1p126f, Out(small, i, 34), 1e-6);
    for (int64_t e = 0; e < kSize; ++e) {
      if (e == 3 || e == 34) continue;
      ASSERT_EQ(Out(r, i, e), Out(small, i, e)) << i << " " << e;
    }
  }
}

// What is computed once more is summed in pieces that depend on nothing but
// positions: not on the form of the mask, nor on how the values lie.
TEST_P(SpecialValuesTest, LargeValuesInAnyForm) {
  for (int64_t j = 0; j < kKeys; ++j) {
    SetValue(j, 3, (0.5f + static_cast<float>(j * 7919 % 64) / 130) * kMax);
  }
  problem_.query_offset = QueryOffset::BottomRight();
  problem_.mask = Mask::Window(301, 0);
  const AttentionResult window = Run();

  std::vector<uint8_t> visible(static_cast<size_t>(kQueries * kKeys));
  for (int64_t i = 0; i < kQueries; ++i) {
    const int64_t position = i + kKeys - kQueries;
    for (int64_t j = position - 300; j <= position; ++j) {
      visible[static_cast<size_t>(i * kKeys + j)] = 1;
    }
  }
  problem_.mask =
      Mask::Boolean(TensorView(visible.data(), DType::kU8, {kQueries, kKeys}));
  EXPECT_TRUE(SameBits(Run().out, window.out));

  Tensor columns(DType::kF32, {1, 1, kSize, kKeys});
  for (int64_t i = 0; i < v_.NumElements(); ++i) {
    columns.AsMutable<float>()[i % kSize * kKeys + i / kSize] =
        v_.As<float>()[i];
  }
  problem_.mask = Mask::Window(301, 0);
  problem_.v = columns.view();
  std::swap(problem_.v.shape[2], problem_.v.shape[3]);
  std::swap(problem_.v.strides[2], problem_.v.strides[3]);
  EXPECT_TRUE(SameBits(Run().out, window.out));
}

// Scale times q may leave the range of f32 where the score does not.
TEST_P(SpecialValuesTest, LargeAndSmallScales) {
  problem_.scale = 1;
  const AttentionResult usual = Run();
  const Tensor q = q_.Clone(), k = k_.Clone();
  // Exponents of scale, q and k that cancel.
  constexpr int kExponents[][3] = {
      {100, 20, -120}, {60, 70, -130}, {-90, -10, 100}, {140, -70, -70}};
  for (const auto& [of_scale, of_q, of_k] : kExponents) {
    for (int64_t i = 0; i < q.NumElements(); ++i) {
      q_.AsMutable<float>()[i] = std::ldexp(q.As<float>()[i], of_q);
    }
    for (int64_t i = 0; i < k.NumElements(); ++i) {
      k_.AsMutable<float>()[i] = std::ldexp(k.As<float>()[i], of_k);
    }
    problem_.scale = std::ldexp(1.0, of_scale);
    EXPECT_TRUE(AllWithin(Run().out, usual.out, 1e-6)) << of_scale;
  }
}

// pytorch#110213: a finite bias is never a mask, even where its sum with the
// score is lower than the lowest number.
TEST_P(SpecialValuesTest, SumsBelowTheLowestNumberAreThatNumber) {
  for (const DType type : {DType::kF32, DType::kBF16}) {
    for (int64_t d = 0; d < kDepth; ++d) {
      for (int64_t i = 0; i < kQueries; ++i) {
        q_.AsMutable<float>()[i * kDepth + d] = -1e19f;
      }
    }
    for (int64_t j = 0; j < kKeys; ++j) SetKey(j, 1e19f);
    problem_.scale = 0.5;  // scores of -2.5e38
    Tensor bias(type, {kKeys});
    for (int64_t j = 0; j < kKeys; ++j) {
      if (type == DType::kF32) {
        bias.AsMutable<float>()[j] = j < 600 ? -kMax : -kInf;
      } else {
        static_cast<uint16_t*>(bias.mutable_view().mutable_data())[j] =
            j < 600 ? 0xFF7F : 0xFF80;
      }
    }
    problem_.bias = bias;
    const AttentionResult r = Run();
    for (int64_t i = 0; i < kQueries; ++i) {
      EXPECT_NEAR(r.weights.As<float>()[i * kKeys + 599], 1.0 / 600, 1e-8);
      EXPECT_EQ(r.weights.As<float>()[i * kKeys + 600], 0);
      EXPECT_LT(r.lse.As<float>()[i], -1e38f);
      EXPECT_FALSE(std::isnan(Out(r, i, 0)));
    }
  }
}

// The same in double, where the reference has no more room either.
TEST_P(SpecialValuesTest, SumsBelowTheLowestDoubleAreThatNumber) {
  constexpr double kLowest = std::numeric_limits<double>::lowest();
  Tensor q(DType::kF64, {1, 1, kQueries, 1}), k(DType::kF64, {1, 1, kKeys, 1});
  Tensor bias(DType::kF64, {kKeys});
  std::fill_n(q.AsMutable<double>(), kQueries, -1e154);
  std::fill_n(k.AsMutable<double>(), kKeys, 1e154);
  std::fill_n(bias.AsMutable<double>(), kKeys, kLowest);
  problem_.q = q;
  problem_.k = problem_.v = k;
  problem_.bias = bias;
  problem_.scale = 1;
  const AttentionResult r = Run();
  for (int64_t i = 0; i < kQueries * kKeys; ++i) {
    ASSERT_NEAR(r.weights.As<double>()[i], 1.0 / kKeys, 1e-12);
  }
  EXPECT_EQ(r.lse.As<double>()[0], kLowest);
}

// What a bias of -infinity hides has no effect, NaN included.
TEST_P(SpecialValuesTest, NaNBehindABias) {
  Tensor bias(DType::kF32, {1, kKeys});
  for (const int64_t j : {0, 17, 511, 512, 699}) {
    bias.AsMutable<float>()[j] = -kInf;
  }
  problem_.bias = bias;
  const AttentionResult clean = Run();
  for (const float bad : {kNaN, kInf, -kInf}) {
    for (const int64_t j : {0, 17, 511, 512, 699}) {
      SetKey(j, bad);
      SetValue(j, j % kSize, bad);
    }
    const AttentionResult r = Run();
    EXPECT_TRUE(SameBits(r.out, clean.out));
    EXPECT_TRUE(SameBits(r.lse, clean.lse));
    EXPECT_TRUE(SameBits(r.weights, clean.weights));
  }
}

// Finite scores up to the limit of f32: the maximum is subtracted first.
TEST_P(SpecialValuesTest, ScoresAtTheLimit) {
  const auto run = [&](std::vector<float> keys, std::vector<float> values) {
    const Tensor q = Tensor::FromVector({1}, {1, 1, 1, 1});
    const int64_t n = static_cast<int64_t>(keys.size());
    const Tensor k = Tensor::FromVector(keys, {1, 1, n, 1});
    const Tensor v = Tensor::FromVector(values, {1, 1, n, 1});
    AttentionProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    return Attend(p, OptionsFor(GetParam())).out.As<float>()[0];
  };
  EXPECT_EQ(run({kMax, kMax}, {1, 3}), 2);
  EXPECT_EQ(run({-kMax, -kMax}, {1, 3}), 2);
  EXPECT_EQ(run({kMax, -kMax}, {1, 3}), 1);
  EXPECT_EQ(run({-kMax, kMax}, {1, 3}), 3);
  // Neighbouring floats near 1e7 are 1 apart: weights 1/(1+e), e/(1+e).
  EXPECT_NEAR(run({1e7f, 1e7f + 1}, {0, 1}), 0.73105858, 2e-7);
  EXPECT_NEAR(run({-1e7f - 1, -1e7f}, {0, 1}), 0.73105858, 2e-7);
}

// A softcap beyond the range of f32, on either side.
TEST_P(SpecialValuesTest, ExtremeSoftcap) {
  const AttentionResult without = Run();
  problem_.softcap = 1e300;
  EXPECT_TRUE(AllWithin(Run().out, without.out, 1e-6));
  // Scores of next to nothing: the mean of v.
  problem_.softcap = 1e-300;
  double mean = 0;
  for (int64_t j = 0; j < kKeys; ++j) {
    mean += static_cast<double>(v_.As<float>()[j * kSize]) / kKeys;
  }
  EXPECT_NEAR(Out(Run(), 3, 0), mean, 1e-6);
}

// pytorch#141218, #174939: sizes of 0.
TEST_P(SpecialValuesTest, EmptyShapes) {
  const auto run = [&](const Dims& q, const Dims& k, const Dims& v) {
    const Tensor tq(DType::kF32, q), tk(DType::kF32, k);
    Tensor tv(DType::kF32, v);
    for (int64_t i = 0; i < tv.NumElements(); ++i) {
      tv.AsMutable<float>()[i] = static_cast<float>(i);
    }
    AttentionProblem p;
    p.q = tq;
    p.k = tk;
    p.v = tv;
    p.mask = Mask::Causal();
    p.query_offset = QueryOffset::BottomRight();
    return Attend(p, OptionsFor(GetParam(), 3));
  };
  EXPECT_EQ(run({7, 9, 0, 7}, {7, 9, 0, 7}, {7, 9, 0, 7}).out.shape(),
            (Dims{7, 9, 0, 7}));
  EXPECT_EQ(run({0, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}).out.shape(),
            (Dims{0, 2, 3, 4}));
  EXPECT_EQ(run({2, 0, 3, 4}, {2, 0, 3, 4}, {2, 0, 3, 5}).out.shape(),
            (Dims{2, 0, 3, 5}));
  EXPECT_EQ(run({1, 1, 2, 3}, {1, 1, 2, 3}, {1, 1, 2, 0}).weights.shape(),
            (Dims{1, 1, 2, 2}));
  // No keys: empty rows.
  const AttentionResult no_keys = run({1, 1, 2, 3}, {1, 1, 0, 3}, {1, 1, 0, 4});
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(no_keys.out.As<float>()[i], 0);
  EXPECT_EQ(no_keys.lse.As<float>()[1], -kInf);
  // No depth: every score is 0, each row the mean of what it sees.
  const AttentionResult no_depth =
      run({1, 1, 2, 0}, {1, 1, 2, 0}, {1, 1, 2, 3});
  EXPECT_THAT(std::vector<float>(no_depth.out.As<float>(),
                                 no_depth.out.As<float>() + 6),
              testing::ElementsAre(0, 1, 2, 1.5f, 2.5f, 3.5f));
}

// flash-attention#1347: the scale of D = 59 is that of 59, not of 64.
TEST_P(SpecialValuesTest, TheScaleIsThatOfTheTrueSize) {
  Tensor q(DType::kF32, {1, 1, 1, 59}), k(DType::kF32, {1, 1, 2, 59});
  q.AsMutable<float>()[58] = 1;
  k.AsMutable<float>()[59 + 58] = 1;
  const Tensor v = Tensor::FromVector({0, 1}, {1, 1, 2, 1});
  AttentionProblem p;
  p.q = q;
  p.k = k;
  p.v = v;
  const double expected = 1 / (1 + std::exp(-1 / std::sqrt(59.0)));
  EXPECT_NEAR(Attend(p, OptionsFor(GetParam())).out.As<float>()[0], expected,
              1e-7);
}

}  // namespace
}  // namespace regard::inline v0
