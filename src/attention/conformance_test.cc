// Every kernel, on every instruction set, against plain loops in long double,
// on random problems: masks and their intersections, bias, softcap, scale,
// groups, strides, sizes around vectors, strips and blocks, NaN around and
// behind everything.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/support/attention_case.h"
#include "tests/support/compare.h"
#include "tests/support/guarded_array.h"
#include "tests/support/kernels.h"
#include "tests/support/plain_attention.h"

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
//
// What a plain evaluation's error is depends on the order of its sums, by
// chance: in a small problem a single row decides, and three orders may happen
// to be ten times closer to the truth than the next one. So it is the largest
// one over kOrders orders that counts; all but the first few are evaluated only
// for a result that those don't account for.
class Truth {
 public:
  Truth(const AttentionCase& test, DType out_type)
      : test_(test),
        f32_(test.problem().q.dtype != DType::kF64),
        exact_(PlainAttention<long double>(test.problem())) {
    const double units = 4 * (f32_ ? 0x1p-23 : 0x1p-52);
    out_ = units * test.largest_value();
    lse_ = units * LargestFinite(exact_.lse);
    weights_ = units;
    rounding_ = RoundingError(out_type, LargestFinite(exact_.out));
    while (orders_ < kFirstOrders) AddOrder();
  }

  const AttentionResult& exact() const { return exact_; }

  testing::AssertionResult Accepts(const AttentionResult& result) {
    return Accepts(std::array<TensorView, 3>{
        result.out.view(), result.lse.view(), result.weights.view()});
  }
  // `rounds_weights`: to bf16, for the product with v.
  testing::AssertionResult Accepts(const std::array<TensorView, 3>& result,
                                   bool rounds_weights = false) {
    for (;;) {
      const testing::AssertionResult accepted =
          AcceptedSoFar(result, rounds_weights);
      if (accepted || orders_ == kOrders) return accepted;
      AddOrder();
    }
  }

 private:
  static constexpr int64_t kFirstOrders = 3, kOrders = 64;

  void AddOrder() {
    const Order order = static_cast<Order>(orders_++);
    const AttentionResult plain =
        f32_ ? PlainAttention<float>(test_.problem(), order)
             : PlainAttention<double>(test_.problem(), order);
    out_ = std::max(out_, 2 * Compare(plain.out, exact_.out).value);
    lse_ = std::max(lse_, 2 * Compare(plain.lse, exact_.lse).value);
    weights_ =
        std::max(weights_, 2 * Compare(plain.weights, exact_.weights).value);
  }

  testing::AssertionResult AcceptedSoFar(
      const std::array<TensorView, 3>& result, bool rounds_weights) const {
    const double weights_rounding =
        rounds_weights ? RoundingError(DType::kBF16, test_.largest_value()) : 0;
    const auto out =
        AllWithin(result[0], exact_.out, out_ + rounding_ + weights_rounding);
    if (!out) return testing::AssertionFailure() << "out: " << out.message();
    const auto lse = AllWithin(result[1], exact_.lse, lse_);
    if (!lse) return testing::AssertionFailure() << "lse: " << lse.message();
    const auto weights = AllWithin(result[2], exact_.weights, weights_);
    if (!weights)
      return testing::AssertionFailure() << "weights: " << weights.message();
    return testing::AssertionSuccess();
  }

  const AttentionCase& test_;
  const bool f32_;
  const AttentionResult exact_;
  int64_t orders_ = 0;
  double out_, lse_, weights_, rounding_;
};

bool RoundsWeights(const KernelOnTarget& kernel) {
  return TypeFor(kernel.kernel) == DType::kBF16;
}

// One kernel, into guarded outputs of odd layouts.
void ExpectConforms(const KernelOnTarget& kernel, const AttentionCase& test,
                    DType out_type, Truth& truth) {
  SCOPED_TRACE(kernel.Name());
  const AttentionProblem& problem = test.problem();
  const DType dtype =
      problem.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const AttentionResult& exact = truth.exact();
  GuardedArray out(out_type, exact.out.shape(), Layout::kHeadsInside);
  GuardedArray lse(dtype, exact.lse.shape(), Layout::kEverySecond);
  GuardedArray weights(dtype, exact.weights.shape(), Layout::kPaddedRows);
  AttentionPlan plan(problem, OptionsFor(kernel));
  ASSERT_EQ(plan.kernel(), kernel.kernel);
  ASSERT_EQ(plan.instruction_set(), kernel.instruction_set);
  plan.Run(problem, {out.view(), lse.view(), weights.view()});

  EXPECT_TRUE(truth.Accepts({out.view(), lse.view(), weights.view()},
                            RoundsWeights(kernel)));
  EXPECT_TRUE(out.GuardsIntact());
  EXPECT_TRUE(lse.GuardsIntact());
  EXPECT_TRUE(weights.GuardsIntact());
  EXPECT_TRUE(test.GuardsIntact());
}

// The bound must not be so wide that errors fit into it: of the problems that
// depend on the scale at all, nine of ten show one that is off by a 130,000th
// part, 64 units in the last place.
TEST(TruthTest, SeesSmallErrors) {
  int depending = 0, seen = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const AttentionCase test({.seed = seed});
    const AttentionProblem& problem = test.problem();
    if (problem.q.shape[2] * problem.k.shape[2] > 2000) continue;  // slow
    Truth truth(test, DType::kF32);
    const auto with_scale_off_by = [&](double part) {
      AttentionProblem wrong = problem;
      const double depth = static_cast<double>(problem.q.shape[3]);
      wrong.scale = problem.scale.value_or(1 / std::sqrt(depth)) * (1 + part);
      return PlainAttention<float>(wrong);
    };
    EXPECT_TRUE(truth.Accepts(with_scale_off_by(0)));
    if (truth.Accepts(with_scale_off_by(0x1p-10))) continue;
    ++depending;
    seen += !truth.Accepts(with_scale_off_by(0x1p-17));
  }
  EXPECT_GE(10 * seen, 9 * depending);
  EXPECT_GE(depending, 15);
}

class ConformanceTest : public testing::TestWithParam<std::tuple<Types, int>> {
};

// Tests run side by side: the problems are dealt out to so many parts, of which
// f32 and f64 have the first ones each.
constexpr int kFullParts = 8, kParts = 11;

// Problems of a part: REGARD_TEST_PROBLEMS (in all, of f32 as of f64) or a few.
int ProblemsPerPart() {
  const char* text = std::getenv("REGARD_TEST_PROBLEMS");
  return text == nullptr ? 15 : (std::atoi(text) + kFullParts - 1) / kFullParts;
}

TEST_P(ConformanceTest, RandomProblems) {
  const auto [types, part] = GetParam();
  const bool bf16 = types.q == DType::kBF16 && types.k == DType::kBF16 &&
                    types.v == DType::kBF16;
  const std::vector<KernelOnTarget> kernels =
      AllKernels(bf16 ? DType::kBF16 : DType::kF32);
  ASSERT_GE(kernels.size(), 1u);
  const int problems = ProblemsPerPart();
  ASSERT_GT(problems, 0);
  for (int i = 0; i < problems; ++i) {
    const AttentionCase test({.seed = static_cast<uint64_t>(part + i * kParts),
                              .dtype = types.q,
                              .k = types.k,
                              .v = types.v,
                              .odd_layouts = true});
    SCOPED_TRACE(test.description());
    Truth truth(test, types.out);
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
                     testing::Range(0, kFullParts)),
    NameOf);

// What differs from those above is how rows are read and written.
INSTANTIATE_TEST_SUITE_P(
    Half, ConformanceTest,
    testing::Combine(testing::Values(Types{kBF16, kBF16, kBF16, kBF16},
                                     Types{kF16, kF16, kF16, kF16}),
                     testing::Values(kFullParts)),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Mixed, ConformanceTest,
    testing::Combine(testing::Values(Types{kF32, kBF16, kF16, kF32},
                                     Types{kBF16, kBF16, kBF16, kF32},
                                     Types{kF16, kF32, kBF16, kF64},
                                     Types{kF64, kF16, kF32, kBF16}),
                     testing::Values(kFullParts + 2)),
    NameOf);

}  // namespace
}  // namespace regard::inline v0
