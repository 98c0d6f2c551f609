// q, k, v and out of every floating type: each is what the same kernel computes
// from the same numbers in the type of the arithmetic, rounded once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/convert.h"
#include "tests/support/attention_case.h"
#include "tests/support/compare.h"
#include "tests/support/guarded_array.h"
#include "tests/support/kernels.h"
#include "tests/support/plain_attention.h"

namespace regard::inline v0 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

DType ArithmeticOf(DType q) {
  return q == DType::kF64 ? DType::kF64 : DType::kF32;
}

class TypesTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  AttentionResult Run(const AttentionProblem& problem) {
    return Attend(problem, OptionsFor(GetParam()));
  }
  bool ServesBF16Alone() const {
    return TypeFor(GetParam().kernel) == DType::kBF16;
  }
  std::vector<DType> Halves() const {
    if (ServesBF16Alone()) return {DType::kBF16};
    return {DType::kBF16, DType::kF16};
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, TypesTest,
                         testing::ValuesIn(AllKernels(DType::kBF16)),
                         [](const auto& info) { return info.param.Name(); });

// Of the kernels that serve all types: the one for bf16 rounds weights to it.
class AllTypesTest : public TypesTest {};

INSTANTIATE_TEST_SUITE_P(Kernels, AllTypesTest, testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(AllTypesTest, SameBitsAsConvertedInputs) {
  constexpr DType kF64 = DType::kF64, kF32 = DType::kF32, kBF16 = DType::kBF16,
                  kF16 = DType::kF16;
  constexpr DType kTypes[][3] = {{kBF16, kBF16, kBF16}, {kF16, kF16, kF16},
                                 {kF32, kF16, kBF16},   {kBF16, kF32, kF16},
                                 {kF64, kBF16, kF32},   {kF64, kF16, kF64}};
  for (uint64_t seed = 400; seed < 406; ++seed) {
    for (const auto& [q, k, v] : kTypes) {
      const AttentionCase test({.seed = seed,
                                .dtype = q,
                                .k = k,
                                .v = v,
                                .odd_layouts = true,
                                .poison_hidden = false});
      SCOPED_TRACE(test.description());
      const AttentionResult narrow = Run(test.problem());
      const DType wide = ArithmeticOf(q);
      AttentionProblem same = test.problem();
      const Tensor wide_q = Converted(same.q, wide),
                   wide_k = Converted(same.k, wide),
                   wide_v = Converted(same.v, wide);
      same.q = wide_q;
      same.k = wide_k;
      same.v = wide_v;
      const AttentionResult expected = Run(same);
      Tensor out(q, narrow.out.shape());
      AttentionPlan(same, OptionsFor(GetParam()))
          .Run(same, {out.mutable_view(), {}, {}});
      EXPECT_TRUE(SameBits(narrow.out, out));
      EXPECT_TRUE(SameBits(narrow.lse, expected.lse));
      EXPECT_TRUE(SameBits(narrow.weights, expected.weights));
    }
  }
}

// The caller's own type of output.
TEST_P(TypesTest, OutOfAnyFloatingType) {
  const AttentionCase test({.seed = 7, .dtype = DType::kBF16});
  const AttentionProblem& problem = test.problem();
  AttentionPlan plan(problem, OptionsFor(GetParam()));
  const Dims shape = {problem.q.shape[0], problem.q.shape[1],
                      problem.q.shape[2], problem.v.shape[3]};
  Tensor wide(DType::kF32, shape), f64(DType::kF64, shape);
  plan.Run(problem, {wide.mutable_view(), {}, {}});
  plan.Run(problem, {f64.mutable_view(), {}, {}});
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF64}) {
    Tensor out(type, shape);
    plan.Run(problem, {out.mutable_view(), {}, {}});
    // The reference computes in f64, of which more is kept.
    const TensorView exact = GetParam().kernel == "reference" ? f64 : wide;
    EXPECT_TRUE(SameBits(out, Converted(exact, type))) << Name(type);
  }
}

// pytorch#183809, mistral.rs#1417: the error of 16-bit types must not depend on
// the path: twice that of a plain evaluation at most.
TEST_P(TypesTest, NoWorseThanTwiceAPlainEvaluation) {
  for (const DType half : Halves()) {
    const Dims shape = {1, 1, 512, 64};
    GuardedArray arrays[3];
    uint32_t state = 5;
    for (GuardedArray& array : arrays) {
      array = GuardedArray(half, shape, Layout::kContiguous);
      for (int64_t i = 0; i < array.view().NumElements(); ++i) {
        state = state * 1664525 + 1013904223;
        array.Set(i, static_cast<double>(state >> 8) / (1 << 22) - 2);
      }
    }
    AttentionProblem p;
    p.q = arrays[0].view().Slice(2, 0, 40);
    p.k = arrays[1].view();
    p.v = arrays[2].view();
    const AttentionResult exact = PlainAttention<double>(p);
    const double plain =
        Compare(PlainHalfAttention(p, half).out, exact.out).value;
    EXPECT_TRUE(AllWithin(Run(p).out, exact.out, 2 * plain));
    // A bound that has become lax shows.
    EXPECT_LT(2 * plain, half == DType::kBF16 ? 0.01 : 0.001);
  }
}

// One head, one query, and keys with a score of 0 each, unless a test sets k.
class OneRow {
 public:
  OneRow(DType dtype, int64_t keys, int64_t size)
      : q_(dtype, {1, 1, 1, 1}, Layout::kContiguous),
        k_(dtype, {1, 1, keys, 1}, Layout::kContiguous),
        v_(dtype, {1, 1, keys, size}, Layout::kContiguous) {
    q_.Set(0, 1);
    for (int64_t j = 0; j < keys; ++j) k_.Set(j, 0);
    for (int64_t i = 0; i < keys * size; ++i) v_.Set(i, 0);
  }
  GuardedArray& q() { return q_; }
  GuardedArray& k() { return k_; }
  GuardedArray& v() { return v_; }
  AttentionProblem Problem() const {
    AttentionProblem p;
    p.q = q_.view();
    p.k = k_.view();
    p.v = v_.view();
    p.scale = 1;
    return p;
  }

 private:
  GuardedArray q_, k_, v_;
};

double Number(const Tensor& tensor, int64_t i) {
  return Converted(tensor, DType::kF64).As<double>()[i];
}

// A row with one visible key gives exactly its v, whatever 16 bits that is.
TEST_P(TypesTest, EveryValueComesBack) {
  for (const DType half : Halves()) {
    constexpr int64_t kSize = 509;
    for (int64_t begin = 0; begin < 0x10000; begin += kSize) {
      OneRow row(half, 1, kSize);
      uint16_t* v = static_cast<uint16_t*>(row.v().view().mutable_data());
      for (int64_t e = 0; e < kSize; ++e) {
        v[e] = static_cast<uint16_t>(begin + e);
      }
      const AttentionResult r = Run(row.Problem());
      const uint16_t* out = static_cast<const uint16_t*>(r.out.view().data);
      for (int64_t e = 0; e < kSize; ++e) {
        if (std::isnan(row.v().Get(e))) {
          ASSERT_TRUE(std::isnan(Number(r.out, e))) << v[e];
        } else {
          ASSERT_EQ(out[e], v[e]);
        }
      }
    }
  }
}

TEST_P(TypesTest, NaNAndInfinities) {
  for (const DType half : Halves()) {
    for (const double bad : {kNaN, kInf, -kInf}) {
      OneRow row(half, 40, 3);
      row.v().Set(7 * 3 + 1, bad);
      AttentionResult r = Run(row.Problem());
      EXPECT_EQ(Number(r.out, 0), 0);
      EXPECT_EQ(Distance(Number(r.out, 1), bad), 0);
      EXPECT_NEAR(Number(r.lse, 0), std::log(40), 1e-6);
      // Hidden, it has no effect.
      AttentionProblem p = row.Problem();
      p.mask = Mask::Lengths({}, {7});
      EXPECT_EQ(Number(Run(p).out, 1), 0);
      // A score of NaN or infinity makes the row NaN; -infinity hides the key.
      row.v().Set(7 * 3 + 1, 0);
      row.k().Set(7, bad);
      r = Run(row.Problem());
      EXPECT_EQ(std::isnan(Number(r.out, 0)), bad != -kInf);
      EXPECT_EQ(std::isnan(Number(r.lse, 0)), bad != -kInf);
      EXPECT_EQ(Number(Run(p).out, 0), 0);
    }
  }
}

// The numbers of the type up to its largest, as scores and as values: sums of
// them overflow the type, and those of bf16 f32 as well.
TEST_P(TypesTest, LargestNumbers) {
  for (const DType half : Halves()) {
    const double largest = half == DType::kF16 ? 65504 : 3.3895313892515355e38;
    OneRow row(half, 600, 2);
    for (int64_t j = 0; j < 600; ++j) {
      row.v().Set(2 * j, largest);
      row.v().Set(2 * j + 1, j % 2 == 0 ? largest : -largest);
    }
    const AttentionResult r = Run(row.Problem());
    EXPECT_EQ(Number(r.out, 0), largest);
    EXPECT_LE(std::fabs(Number(r.out, 1)), largest * 1e-5);
    row.k().Set(599, largest);
    EXPECT_EQ(Number(Run(row.Problem()).out, 1), -largest);
    EXPECT_FLOAT_EQ(static_cast<float>(Number(Run(row.Problem()).lse, 0)),
                    static_cast<float>(largest));
  }
}

// What a row doesn't see, or sees with a weight of 0, may be anything.
TEST_P(TypesTest, HiddenNaNChangesNoBit) {
  for (const DType half : Halves()) {
    GuardedArray q(half, {1, 1, 30, 7}, Layout::kContiguous);
    GuardedArray k(half, {1, 1, 700, 7}, Layout::kContiguous);
    GuardedArray v(half, {1, 1, 700, 35}, Layout::kContiguous);
    for (GuardedArray* array : {&q, &k, &v}) {
      for (int64_t i = 0; i < array->view().NumElements(); ++i) {
        array->Set(i, static_cast<double>(i * 7919 % 101) / 64 - 0.75);
      }
    }
    AttentionProblem p;
    p.q = q.view();
    p.k = k.view();
    p.v = v.view();
    p.mask = Mask::Causal();
    p.query_offset = QueryOffset::At(600);
    const AttentionResult clean = Run(p);
    for (const int64_t key : {612, 613, 699}) {  // alone, or with its neighbour
      for (const double bad : {kNaN, kInf}) {
        const double before = v.Get(key * 35 + 34);
        v.Set(key * 35 + 34, bad);
        const AttentionResult r = Run(p);
        for (int64_t i = 0; i < 30; ++i) {
          const bool sees = i + 600 >= key;
          const auto row = [&](const AttentionResult& result) {
            return result.out.view().Slice(2, i, i + 1);
          };
          EXPECT_TRUE(
              SameBits(row(r).Slice(3, 0, 34), row(clean).Slice(3, 0, 34)));
          if (!sees) {
            EXPECT_TRUE(SameBits(row(r), row(clean)));
          }
          EXPECT_EQ(Distance(Number(r.out, i * 35 + 34), bad) == 0, sees);
        }
        v.Set(key * 35 + 34, before);
      }
    }
  }
}

// The dot product of bf16 takes subnormal numbers for 0: what no other kernel
// does, and the proof that it is the one that runs.
TEST_P(TypesTest, SubnormalNumbersInProducts) {
  OneRow row(DType::kBF16, 2, 1);
  row.q().Set(0, 0x1p-130);
  row.k().Set(0, 0x1p127);
  const double score = ServesBF16Alone() ? 0 : 0.125;
  EXPECT_NEAR(Number(Run(row.Problem()).lse, 0), std::log(1 + std::exp(score)),
              1e-6);
}

// pytorch#108503: packed sequences are what each of them is alone.
TEST_P(TypesTest, PackedSequences) {
  for (const DType half : Halves()) {
    const Dims shape = {1, 2, 700, 24};
    GuardedArray arrays[3];
    for (int64_t a = 0; a < 3; ++a) {
      arrays[a] = GuardedArray(half, shape, Layout::kHeadsInside);
      for (int64_t i = 0; i < arrays[a].view().NumElements(); ++i) {
        arrays[a].Set(i, static_cast<double>((i * 7919 + a) % 1009) / 256 - 2);
      }
    }
    const int64_t starts[] = {0, 21, 60, 61, 700};
    AttentionProblem packed;
    packed.q = arrays[0].view();
    packed.k = arrays[1].view();
    packed.v = arrays[2].view();
    packed.mask = Mask::Causal();
    packed.query_offset = QueryOffset::TopLeft();
    AttentionProblem alone = packed;
    packed.query_starts = packed.key_starts = TensorView(starts, {5});
    AttentionOptions options = OptionsFor(GetParam());
    options.weights = false;
    const AttentionResult all = Attend(packed, options);
    for (size_t s = 0; s < 4; ++s) {
      const auto part = [&](const TensorView& view) {
        return view.Slice(2, starts[s], starts[s + 1]);
      };
      alone.q = part(packed.q);
      alone.k = part(packed.k);
      alone.v = part(packed.v);
      const AttentionResult one = Attend(alone, options);
      EXPECT_TRUE(SameBits(part(all.out), one.out)) << s;
      EXPECT_TRUE(SameBits(part(all.lse), one.lse)) << s;
    }
  }
}

// What f32 holds and the type of the output doesn't is rounded once.
TEST_P(AllTypesTest, OutputsRoundToNearestEven) {
  const float values[] = {65519.0f, 65520.0f,       -65520.0f,     1e-8f,
                          0x1p-24f, 1.00048828125f, 1.00146484375f};
  OneRow row(DType::kF32, 1, 7);
  for (int64_t e = 0; e < 7; ++e) {
    row.v().Set(e, static_cast<double>(values[e]));
  }
  GuardedArray out(DType::kF16, {1, 1, 1, 7}, Layout::kEverySecond);
  AttentionPlan(row.Problem(), OptionsFor(GetParam()))
      .Run(row.Problem(), {out.view(), {}, {}});
  const double expected[] = {65504, kInf, -kInf, 0, 0x1p-24, 1, 1.001953125};
  for (int64_t e = 0; e < 7; ++e) EXPECT_EQ(out.Get(e), expected[e]);
  EXPECT_TRUE(out.GuardsIntact());
}

// What streams by is f32.
TEST_P(TypesTest, WeightTiles) {
  OneRow row(DType::kBF16, 3, 1);
  row.k().Set(1, 1);
  double sum = 0;
  ForEachWeightTile(row.Problem(), OptionsFor(GetParam()),
                    [&](const WeightTile& tile) {
                      for (int64_t j = 0; j < 3; ++j) {
                        sum += static_cast<double>(tile.weights[j]);
                      }
                      EXPECT_NEAR(tile.weights[1], 0.57611688, 1e-7);
                    });
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(TypeRulesTest, APlanIsForItsTypes) {
  const OneRow brain(DType::kBF16, 3, 1), half(DType::kF16, 3, 1);
  AttentionPlan plan(brain.Problem());
  Tensor out(DType::kF32, {1, 1, 1, 1});
  AttentionProblem p = brain.Problem();
  p.v = half.Problem().v;
  try {
    plan.Run(p, {out.mutable_view(), {}, {}});
    FAIL() << "runs on another type";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("AttentionPlan::Run: v"),
                                    HasSubstr("f16 is not the planned bf16")));
  }
}

}  // namespace
}  // namespace regard::inline v0
