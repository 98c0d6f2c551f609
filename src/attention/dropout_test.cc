// Dropout: the random numbers are the published ones, and the same for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/philox.h"
#include "tests/support/compare.h"
#include "tests/support/kernels.h"
#include "tests/support/plain_attention.h"

namespace regard::inline v0 {
namespace {

using Words = std::array<uint32_t, 4>;

// kat_vectors of Random123 (Salmon et al. 2011), philox4x32 with 10 rounds.
TEST(PhiloxTest, PublishedVectors) {
  constexpr uint32_t kOnes = 0xFFFFFFFF;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Scores of 0 and the unit matrix as v: out shows every weight.
class DropoutTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  static constexpr int64_t kBatch = 2, kHeads = 2, kQueries = 15, kKeys = 600;

  DropoutTest() {
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t j = 0; j < kKeys; ++j) {
        v_.AsMutable<float>()[(b * kKeys + j) * kKeys + j] = 1;
      }
    }
    problem_.q = q_;
    problem_.k = k_;
    problem_.v = v_;
    problem_.dropout = Dropout{0.25, (uint64_t{7} << 32) + 9, {3, 0xFFFFFFFF}};
  }

  AttentionResult Run(int threads = 1) {
    return Attend(problem_, OptionsFor(GetParam(), threads));
  }
  static float Out(const AttentionResult& r, int64_t b, int64_t h, int64_t i,
                   int64_t j) {
    return r.out.As<float>()[((b * kHeads + h) * kQueries + i) * kKeys + j];
  }

  Tensor q_{DType::kF32, {kBatch, kHeads, kQueries, 4}};
  Tensor k_{DType::kF32, {kBatch, 1, kKeys, 4}};
  Tensor v_{DType::kF32, {kBatch, 1, kKeys, kKeys}};
  AttentionProblem problem_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, DropoutTest, testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(DropoutTest, EveryWeightIsDroppedOrGrows) {
  const AttentionResult r = Run();
  int64_t dropped = 0;
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < kQueries; ++i) {
        for (int64_t j = 0; j < kKeys; ++j) {
          const bool kept = IsKept(problem_, b, h, i, j);
          const double expected = kept ? 1.0 / kKeys / 0.75 : 0;
          ASSERT_NEAR(Out(r, b, h, i, j), expected, 1e-9)
              << b << " " << h << " " << i << " " << j;
          dropped += !kept;
        }
      }
    }
  }
  // 36,000 throws: five standard deviations.
  EXPECT_NEAR(static_cast<double>(dropped) / (60 * kKeys), 0.25, 0.0114);
}

TEST_P(DropoutTest, LseAndWeightsAreThoseBefore) {
  const AttentionResult with = Run();
  problem_.dropout.reset();
  const AttentionResult without = Run();
  EXPECT_TRUE(SameBits(with.lse, without.lse));
  EXPECT_TRUE(SameBits(with.weights, without.weights));
  problem_.dropout = Dropout{};
  EXPECT_TRUE(SameBits(Run().out, without.out));
}

TEST_P(DropoutTest, ThreadsAndBatchPlayNoPart) {
  const AttentionResult together = Run(3);
  EXPECT_TRUE(SameBits(Run(1).out, together.out));
  problem_.q = q_.view().Slice(0, 1, 2);
  problem_.k = k_.view().Slice(0, 1, 2);
  problem_.v = v_.view().Slice(0, 1, 2);
  problem_.dropout->sequence_ids = {0xFFFFFFFF};
  EXPECT_TRUE(SameBits(Run().out, together.out.view().Slice(0, 1, 2)));
}

// A dropped key is visible: what it holds is multiplied by 0. A hidden one is
// not.
TEST_P(DropoutTest, ValuesThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t j = kKeys - 100; j < kKeys; ++j) {
    v_.AsMutable<float>()[j * kKeys] = nan;  // of batch entry 0
  }
  EXPECT_TRUE(std::isnan(Out(Run(), 0, 1, 2, 0)));
  problem_.mask = Mask::Lengths({}, {kKeys - 100, kKeys});
  const AttentionResult r = Run();
  for (int64_t i = 0; i < kQueries; ++i) {
    const double expected =
        IsKept(problem_, 0, 1, i, 0) ? 1 / 500.0 / 0.75 : 0.0;
    EXPECT_NEAR(Out(r, 0, 1, i, 0), expected, 1e-9);
  }
}

// A row with a score that is NaN is NaN, though every weight is dropped and
// values (of which a hidden one is infinite) are looked at once more.
TEST_P(DropoutTest, RowsThatAreNotANumber) {
  problem_.dropout->p = 0.999999;
  k_.AsMutable<float>()[4] = std::numeric_limits<float>::quiet_NaN();
  v_.AsMutable<float>()[(kKeys - 1) * kKeys] =
      std::numeric_limits<float>::infinity();
  problem_.mask = Mask::Lengths({}, {kKeys - 1, kKeys});
  const AttentionResult r = Run();
  for (int64_t i = 0; i < kQueries; ++i) {
    for (int64_t j = 0; j < kKeys; ++j) {
      EXPECT_TRUE(std::isnan(Out(r, 0, 0, i, j))) << i << " " << j;
      EXPECT_FALSE(std::isnan(Out(r, 1, 0, i, j))) << i << " " << j;
    }
  }
}

TEST(DropoutCheckTest, NamesTheRule) {
  const Tensor one(DType::kF32, {2, 1, 1, 1});
  AttentionProblem problem;
  problem.q = problem.k = problem.v = one;
  const auto message = [&](const Dropout& dropout) -> std::string {
    problem.dropout = dropout;
    try {
      Attend(problem);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double p : {-1.0, 1.0, 1.5, nan}) {
    EXPECT_THAT(message({p, 0, {}}), testing::HasSubstr("is not in [0, 1)"));
  }
  EXPECT_THAT(message({0.5, 0, {1}}),
              testing::HasSubstr("1 sequence ids for 2 sequences"));
  EXPECT_THAT(message({0.5, 0, {1, -1}}),
              testing::HasSubstr("sequence id -1 is not in [0, 2^32)"));
  EXPECT_EQ(message({0.5, 0, {1, 0xFFFFFFFF}}), "");
}

}  // namespace
}  // namespace regard::inline v0
