// Against PyTorch in float64 (tests/golden/make_attention.py): the definition
// itself, seen by somebody else.
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

}  // namespace
}  // namespace regard::inline v0
