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

// Types of the arrays.
struct Types {
  DType q, k, v, out;

  std::string Name() const {
    std::string name;
    for (const DType type : {q, k, v, out}) {
      name += (name.empty() ? "" : "_") + std::string(regard::Name(type));
    }
    return name;
  }
};

void PrintTo(const Types& types, std::ostream* stream) {
  *stream << types.Name();
}

// The largest error of rounding a number of at most this size to the type.
double RoundingError(DType dtype, double largest) {
  switch (dtype) {
    case DType::kBF16:
      return largest * 0x1p-8;
    case DType::kF16:
      return largest * 0x1p-11 + 0x1p-25;
    case DType::kF32:
      return largest * 0x1p-24;
    default:
      return 0;
  }
}

// The truth about a problem, and how far from it a result may be: twice the
// error of a plain evaluation in the type of the arithmetic, or four units in
// the last place of the largest value; and out is rounded to its own type.
struct Truth {
  AttentionResult exact;
  double out, lse, weights;

  Truth(const AttentionCase& test, DType out_type)
      : exact(PlainAttention<long double>(test.problem())) {
    const bool f32 = test.problem().q.dtype != DType::kF64;
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
    out += RoundingError(out_type, LargestFinite(exact.out));
  }
};

// One kernel, into guarded outputs of odd layouts.
void ExpectConforms(const KernelOnTarget& kernel, const AttentionCase& test,
                    DType out_type, const Truth& truth) {
  SCOPED_TRACE(kernel.Name());
  const AttentionProblem& problem = test.problem();
  const DType dtype =
      problem.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const AttentionResult& exact = truth.exact;
  GuardedArray out(out_type, exact.out.shape(), Layout::kHeadsInside);
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

class ConformanceTest : public testing::TestWithParam<std::tuple<Types, int>> {
};

constexpr int kSeedsPerTest = 15;

TEST_P(ConformanceTest, RandomProblems) {
  const auto [types, part] = GetParam();
  const std::vector<KernelOnTarget> kernels = AllKernels();
  ASSERT_GE(kernels.size(), 1u);
  for (int i = 0; i < kSeedsPerTest; ++i) {
    const uint64_t seed = static_cast<uint64_t>(part * kSeedsPerTest + i);
    const AttentionCase test({.seed = seed,
                              .dtype = types.q,
                              .k = types.k,
                              .v = types.v,
                              .odd_layouts = true});
    SCOPED_TRACE(test.description());
    const Truth truth(test, types.out);
    for (const KernelOnTarget& kernel : kernels) {
      ExpectConforms(kernel, test, types.out, truth);
      if (HasFatalFailure()) return;
    }
  }
}

std::string NameOf(
    const testing::TestParamInfo<ConformanceTest::ParamType>& info) {
  return std::get<0>(info.param).Name() + "_" +
         std::to_string(std::get<1>(info.param));
}

constexpr DType kF64 = DType::kF64, kF32 = DType::kF32, kBF16 = DType::kBF16,
                kF16 = DType::kF16;

INSTANTIATE_TEST_SUITE_P(
    Seeds, ConformanceTest,
    testing::Combine(testing::Values(Types{kF32, kF32, kF32, kF32},
                                     Types{kF64, kF64, kF64, kF64}),
                     testing::Range(0, 8)),
    NameOf);

// What differs from those above is how rows are read and written.
INSTANTIATE_TEST_SUITE_P(
    Half, ConformanceTest,
    testing::Combine(testing::Values(Types{kBF16, kBF16, kBF16, kBF16},
                                     Types{kF16, kF16, kF16, kF16}),
                     testing::Range(8, 10)),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Mixed, ConformanceTest,
    testing::Combine(testing::Values(Types{kF32, kBF16, kF16, kF32},
                                     Types{kBF16, kBF16, kBF16, kF32},
                                     Types{kF16, kF32, kBF16, kF64},
                                     Types{kF64, kF16, kF32, kBF16}),
                     testing::Values(10)),
    NameOf);

}  // namespace
}  // namespace regard::inline v0
