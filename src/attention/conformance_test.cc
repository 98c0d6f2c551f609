// Every kernel, on every instruction set, against plain loops in long double,
// on random problems: masks and their intersections, bias, softcap, scale,
// groups, strides, sizes around vectors, strips and blocks, NaN around and
// behind everything.
#include <gtest/gtest.h>

#include "tests/support/attention_case.h"
#include "tests/support/compare.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

double LargestFinite(const TensorView& view) {
  double largest = 1;
  for (int64_t i = 0; i < view.NumElements(); ++i) {
    const double value = std::fabs(view.As<double>()[i]);
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

// The truth about a problem, and how far from it a result may be: twice the
// error of a plain evaluation in the same type, or four units in the last place
// of the largest value.
struct Truth {
  AttentionResult exact;
  double out, lse, weights;

  explicit Truth(const AttentionCase& test)
      : exact(PlainAttention<long double>(test.problem())) {
    const bool f32 = test.problem().q.dtype == DType::kF32;
    const double units = 4 * (f32 ? 0x1p-23 : 0x1p-52);
    out = units * test.largest_value();
    lse = units * LargestFinite(exact.lse);
    weights = units;
    for (const Order order :
         {Order::kForward, Order::kBackward, Order::kFourChains}) {
      const AttentionResult plain =
          f32 ? PlainAttention<float>(test.problem(), order)
              : PlainAttention<double>(test.problem(), order);
      out = std::max(out, 2 * Compare(plain.out, exact.out).value);
      lse = std::max(lse, 2 * Compare(plain.lse, exact.lse).value);
      weights =
          std::max(weights, 2 * Compare(plain.weights, exact.weights).value);
    }
  }
};

// One kernel, into guarded outputs of odd layouts.
void ExpectConforms(const KernelOnTarget& kernel, const AttentionCase& test,
                    const Truth& truth) {
  SCOPED_TRACE(kernel.Name());
  const AttentionProblem& problem = test.problem();
  const DType dtype = problem.q.dtype;
  const AttentionResult& exact = truth.exact;
  GuardedArray out(dtype, exact.out.shape(), Layout::kHeadsInside);
  GuardedArray lse(dtype, exact.lse.shape(), Layout::kEverySecond);
  GuardedArray weights(dtype, exact.weights.shape(), Layout::kPaddedRows);
  AttentionPlan plan(problem, OptionsFor(kernel));
  ASSERT_EQ(plan.kernel(), kernel.kernel);
  ASSERT_EQ(plan.instruction_set(), kernel.instruction_set);
  plan.Run(problem, {out.view(), lse.view(), weights.view()});

  EXPECT_TRUE(AllWithin(out.view(), exact.out, truth.out));
  EXPECT_TRUE(AllWithin(lse.view(), exact.lse, truth.lse));
  EXPECT_TRUE(AllWithin(weights.view(), exact.weights, truth.weights));
  EXPECT_TRUE(out.GuardsIntact());
  EXPECT_TRUE(lse.GuardsIntact());
  EXPECT_TRUE(weights.GuardsIntact());
  EXPECT_TRUE(test.GuardsIntact());
}

class ConformanceTest : public testing::TestWithParam<std::tuple<DType, int>> {
};

constexpr int kSeedsPerTest = 15;

TEST_P(ConformanceTest, RandomProblems) {
  const auto [dtype, part] = GetParam();
  const std::vector<KernelOnTarget> kernels = AllKernels();
  ASSERT_GE(kernels.size(), 1u);
  for (int i = 0; i < kSeedsPerTest; ++i) {
    const uint64_t seed = static_cast<uint64_t>(part * kSeedsPerTest + i);
    const AttentionCase test(
        {.seed = seed, .dtype = dtype, .odd_layouts = true});
    SCOPED_TRACE(test.description());
    const Truth truth(test);
    for (const KernelOnTarget& kernel : kernels) {
      ExpectConforms(kernel, test, truth);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ConformanceTest,
                         testing::Combine(testing::Values(DType::kF32,
                                                          DType::kF64),
                                          testing::Range(0, 8)),
                         [](const auto& info) {
                           return std::string(Name(std::get<0>(info.param))) +
                                  "_" + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace regard::inline v0
