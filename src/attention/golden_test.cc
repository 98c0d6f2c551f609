// Against PyTorch and Transformers in float64 (tests/golden/make_attention.py):
// the definition itself, and its masks, seen by somebody else.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/compare.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

// The rule of the script.
Tensor Made(const Dims& shape, int64_t seed) {
  Tensor tensor(DType::kF64, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    tensor.AsMutable<double>()[i] =
        static_cast<double>((i * 7919 + seed * 104729) % 1009) / 256 - 2;
  }
  return tensor;
}

struct Arrays {
  Tensor q, k, v;
  Arrays(const Dims& q_shape, const Dims& k_shape, const Dims& v_shape,
         int64_t seed)
      : q(Made(q_shape, seed)),
        k(Made(k_shape, seed + 1)),
        v(Made(v_shape, seed + 2)) {}
  AttentionProblem Problem() const {
    AttentionProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    return p;
  }
};

class GoldenTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  // Compares with the file: out, then LSE.
  void ExpectGolden(const AttentionProblem& problem, const std::string& name) {
    std::ifstream file(std::string(REGARD_SOURCE_DIR) +
                       "/tests/golden/attention/" + name + ".txt");
    ASSERT_TRUE(file.is_open());
    const AttentionResult r = Attend(problem, OptionsFor(GetParam()));
    int64_t count = 0;
    for (const Tensor* tensor : {&r.out, &r.lse}) {
      for (int64_t i = 0; i < tensor->NumElements(); ++i, ++count) {
        double expected;
        ASSERT_TRUE(file >> expected) << "after " << count << " numbers";
        EXPECT_LE(Distance(tensor->As<double>()[i], expected), 4e-15) << count;
      }
    }
    double more;
    EXPECT_FALSE(file >> more);
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenTest, testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(GoldenTest, Full) {
  const Arrays a({2, 2, 5, 7}, {2, 2, 9, 7}, {2, 2, 9, 3}, 1);
  ExpectGolden(a.Problem(), "full");
}

TEST_P(GoldenTest, CausalWithGroups) {
  const Arrays a({1, 4, 6, 8}, {1, 2, 10, 8}, {1, 2, 10, 8}, 4);
  AttentionProblem p = a.Problem();
  p.mask = Mask::Causal();
  p.query_offset = QueryOffset::BottomRight();
  ExpectGolden(p, "causal");
}

TEST_P(GoldenTest, SoftcapBiasAndScale) {
  const Arrays a({1, 4, 6, 8}, {1, 2, 10, 8}, {1, 2, 10, 8}, 4);
  const Tensor bias = Made({1, 4, 1, 10}, 7);
  AttentionProblem p = a.Problem();
  p.bias = bias;
  p.scale = 0.75;
  p.softcap = 3;
  ExpectGolden(p, "softcap");
}

// q, k and v rounded to 16 bits by PyTorch and by Converted, whose result has
// to be the same. Behind out and LSE stands the error that PyTorch has when it
// computes in that type.
class GoldenHalfTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  void ExpectGolden(DType dtype, const std::string& name) {
    std::ifstream file(std::string(REGARD_SOURCE_DIR) +
                       "/tests/golden/attention/" + name + ".txt");
    ASSERT_TRUE(file.is_open());
    const Arrays a({1, 2, 30, 24}, {1, 1, 200, 24}, {1, 1, 200, 20}, 20);
    const Tensor q = Converted(a.q, dtype), k = Converted(a.k, dtype),
                 v = Converted(a.v, dtype);
    AttentionProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    const AttentionResult r = Attend(p, OptionsFor(GetParam()));
    Tensor out(DType::kF64, r.out.shape()), lse(DType::kF64, r.lse.shape());
    for (Tensor* tensor : {&out, &lse}) {
      for (int64_t i = 0; i < tensor->NumElements(); ++i) {
        ASSERT_TRUE(file >> tensor->AsMutable<double>()[i]);
      }
    }
    double error_of_pytorch;
    ASSERT_TRUE(file >> error_of_pytorch);
    EXPECT_TRUE(AllWithin(r.out, out, 2 * error_of_pytorch));
    EXPECT_TRUE(AllWithin(r.lse, lse, 2e-6));
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenHalfTest,
                         testing::ValuesIn(AllKernels(DType::kBF16)),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(GoldenHalfTest, BF16) { ExpectGolden(DType::kBF16, "bf16"); }

// Of the kernels that serve more than bf16.
class GoldenF16Test : public GoldenHalfTest {};

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenF16Test,
                         testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(GoldenF16Test, F16) { ExpectGolden(DType::kF16, "f16"); }

// Six queries at 600 and on of 700 keys, which are more than a block.
class GoldenMaskTest : public GoldenTest {
 protected:
  static AttentionProblem At600(const Arrays& a) {
    AttentionProblem p = a.Problem();
    p.query_offset = QueryOffset::At(600);
    return p;
  }
  void ExpectGoldenMask(const Mask& mask, const std::string& name) {
    const Arrays a({1, 4, 6, 8}, {1, 2, 700, 8}, {1, 2, 700, 2}, 8);
    AttentionProblem p = At600(a);
    p.mask = mask;
    ExpectGolden(p, name);
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenMaskTest,
                         testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(GoldenMaskTest, Window) {
  ExpectGoldenMask(Mask::Causal() & Mask::Window(130, std::nullopt), "window");
}

// Its window is the largest distance, ours counts the query itself.
TEST_P(GoldenMaskTest, WindowBothWays) {
  ExpectGoldenMask(Mask::Window(151, 150), "both_ways");
}

TEST_P(GoldenMaskTest, Chunk) {
  ExpectGoldenMask(Mask::Causal() & Mask::Chunk(128), "chunk");
}

TEST_P(GoldenMaskTest, Documents) {
  std::vector<int64_t> ids(700);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i / 70);
  ExpectGoldenMask(
      Mask::Causal() & Mask::Documents(TensorView(ids.data() + 600, {6}),
                                       TensorView(ids.data(), {700})),
      "documents");
}

TEST_P(GoldenMaskTest, Prefix) {
  ExpectGoldenMask(Mask::Prefix(650), "prefix");
}

TEST_P(GoldenMaskTest, Alibi) {
  const Arrays a({1, 6, 6, 8}, {1, 6, 700, 8}, {1, 6, 700, 2}, 11);
  const Tensor slopes = AlibiSlopes(6);
  AttentionProblem p = At600(a);
  p.mask = Mask::Causal();
  p.alibi_slopes = slopes;
  ExpectGolden(p, "alibi");
}

TEST_P(GoldenMaskTest, LearnedSink) {
  const Arrays a({1, 6, 6, 8}, {1, 6, 700, 8}, {1, 6, 700, 2}, 11);
  Tensor sinks = Made({6}, 14);
  for (int64_t h = 0; h < 6; ++h) sinks.AsMutable<double>()[h] *= 3;
  AttentionProblem p = At600(a);
  p.mask = Mask::Causal();
  p.sink_logit = sinks;
  ExpectGolden(p, "sink");
}

}  // namespace
}  // namespace regard::inline v0
