// Merging against one evaluation over all keys, and the corners of its
// contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "regard/attention.h"
#include "tests/support/compare.h"
#include "tests/support/guarded_array.h"
#include "tests/support/plain_attention.h"

namespace regard::inline v0 {
namespace {

using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

double Epsilon(DType type) {
  return type == DType::kF32 ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
}

void Set(Tensor& tensor, int64_t i, double value) {
  if (tensor.dtype() == DType::kF32) {
    tensor.AsMutable<float>()[i] = static_cast<float>(value);
  } else {
    tensor.AsMutable<double>()[i] = value;
  }
}

double Get(const Tensor& tensor, int64_t i) {
  return Converted(tensor, DType::kF64).As<double>()[i];
}

// One part, owned.
struct Part {
  Tensor out, lse;
  Part(DType type, const Dims& shape)
      : out(type, shape), lse(type, {shape[0], shape[1], shape[2]}) {}
  // One row of one head.
  Part(DType type, double row_lse, const std::vector<double>& row)
      : Part(type, {1, 1, 1, static_cast<int64_t>(row.size())}) {
    Set(lse, 0, row_lse);
    for (size_t e = 0; e < row.size(); ++e) {
      Set(out, static_cast<int64_t>(e), row[e]);
    }
  }
};

std::vector<PartialAttention> Views(const std::vector<Part>& parts) {
  std::vector<PartialAttention> views;
  for (const Part& part : parts) views.push_back({part.out, part.lse});
  return views;
}

AttentionResult Merged(const std::vector<Part>& parts, int threads = 0) {
  return MergeAttention(Views(parts), threads);
}

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed * 2 + 1) {}
  double Uniform() {  // [-1, 1)
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) / (uint64_t{1} << 52) - 1;
  }
  bool OneIn(int n) { return Uniform() < 2.0 / n - 1; }

 private:
  uint64_t state_;
};

// Scores and values of one row, and attention over some of its keys.
struct Keys {
  std::vector<long double> scores;               // -infinity: hidden
  std::vector<std::vector<long double>> values;  // [Lk][Dv]

  long double Over(size_t begin, size_t end,
                   std::vector<long double>& out) const {
    long double max = -kInf, sum = 0;
    for (size_t j = begin; j < end; ++j) max = std::max(max, scores[j]);
    std::fill(out.begin(), out.end(), 0);
    for (size_t j = begin; j < end && max != -kInf; ++j) {
      const long double weight = std::exp(scores[j] - max);
      sum += weight;
      for (size_t e = 0; e < out.size(); ++e) out[e] += weight * values[j][e];
    }
    for (long double& x : out) x = sum == 0 ? 0 : x / sum;
    return sum == 0 ? -kInf : max + std::log(sum);
  }
};

struct Splitting {
  DType type;
  int parts;
  double level, spread;  // scores are within level +- spread
};

void PrintTo(const Splitting& split, std::ostream* stream) {
  *stream << Name(split.type) << ", " << split.parts << " parts, scores "
          << split.level << " +- " << split.spread;
}

class MergeTest : public testing::TestWithParam<Splitting> {};

std::vector<Splitting> Splittings() {
  std::vector<Splitting> all;
  for (const DType type : {DType::kF32, DType::kF64}) {
    for (const int parts : {1, 2, 7, 200}) all.push_back({type, parts, 0, 5});
    all.push_back({type, 7, 0, 300});
    all.push_back({type, 7, 1000, 2});
    all.push_back({type, 7, -1000, 2});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Splittings, MergeTest,
                         testing::ValuesIn(Splittings()));

// The parts are exact but for their rounding, so that the bound of the header
// is all that may be left.
TEST_P(MergeTest, ErrorIsWithinTheStatedBound) {
  const Splitting split = GetParam();
  constexpr int64_t kRows = 12, kSize = 19;
  Numbers numbers(1);
  std::vector<Part> parts;
  for (int p = 0; p < split.parts; ++p) {
    parts.emplace_back(split.type, Dims{2, 3, 2, kSize});
  }
  std::vector<long double> full_lse(kRows);
  std::vector<std::vector<long double>> full(kRows,
                                             std::vector<long double>(kSize));
  std::vector<double> bounds(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    Keys keys;
    std::vector<size_t> ends;
    for (int p = 0; p < split.parts; ++p) {
      // Some parts have no key, some keys are hidden.
      const int count = numbers.OneIn(4) ? 0 : 1 + p % 5;
      for (int j = 0; j < count; ++j) {
        keys.scores.push_back(
            numbers.OneIn(4) ? -kInf : split.spread * numbers.Uniform());
        keys.values.emplace_back();
        for (int64_t e = 0; e < kSize; ++e) {
          keys.values.back().push_back(numbers.Uniform());
        }
      }
      ends.push_back(keys.scores.size());
    }
    std::vector<long double> out(kSize);
    double largest_lse = 0;
    for (size_t p = 0; p < ends.size(); ++p) {
      const long double lse = keys.Over(p == 0 ? 0 : ends[p - 1], ends[p], out);
      Set(parts[p].lse, row, static_cast<double>(lse));
      for (int64_t e = 0; e < kSize; ++e) {
        Set(parts[p].out, row * kSize + e,
            static_cast<double>(out[static_cast<size_t>(e)]));
      }
      if (lse != -kInf) {
        largest_lse =
            std::max(largest_lse, std::fabs(static_cast<double>(lse)));
      }
    }
    const size_t at = static_cast<size_t>(row);
    full_lse[at] = keys.Over(0, keys.scores.size(), full[at]);
    // max|out| <= 1. The parts' own rounding comes on top, eps / 2 each.
    bounds[at] = Epsilon(split.type) * (split.parts + 2 * largest_lse + 0.5);
  }

  const AttentionResult merged = Merged(parts);
  double largest = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const size_t at = static_cast<size_t>(row);
    const double lse_error =
        Distance(Get(merged.lse, row), static_cast<double>(full_lse[at]));
    EXPECT_LE(lse_error, bounds[at]) << "row " << row;
    for (int64_t e = 0; e < kSize; ++e) {
      const double error =
          std::fabs(Get(merged.out, row * kSize + e) -
                    static_cast<double>(full[at][static_cast<size_t>(e)]));
      ASSERT_LE(error, bounds[at]) << "row " << row << " element " << e;
      largest = std::max(largest, error / bounds[at]);
    }
  }
  // A bound a hundred times too wide would see nothing. (One part is exact; of
  // scores far apart one part is all.)
  if ((split.parts == 2 || split.parts == 7) && split.spread < 100) {
    EXPECT_GE(largest, 0.01);
  }
}

// The engine over all keys, and over seven pieces of them: under a causal mask
// most rows see nothing of the later ones.
TEST(MergeOfTheEngineTest, PiecesOfTheKeys) {
  for (const DType type : {DType::kF32, DType::kF64}) {
    constexpr int64_t kQueries = 70, kKeys = 140, kSize = 24;
    Numbers numbers(2);
    Tensor q(type, {2, 4, kQueries, kSize}), k(type, {2, 2, kKeys, kSize}),
        v(type, {2, 2, kKeys, kSize});
    for (Tensor* tensor : {&q, &k, &v}) {
      for (int64_t i = 0; i < tensor->NumElements(); ++i) {
        Set(*tensor, i, 2 * numbers.Uniform());
      }
    }
    AttentionProblem problem;
    problem.q = q;
    problem.k = k;
    problem.v = v;
    problem.mask = Mask::Causal();
    problem.query_offset = QueryOffset::TopLeft();
    const AttentionResult truth = PlainAttention<long double>(problem);
    const AttentionResult full = Attend(problem, {.lse = true});

    std::vector<AttentionResult> results;
    std::vector<PartialAttention> parts;
    for (int64_t begin = 0; begin < kKeys; begin += 20) {
      AttentionProblem piece = problem;
      piece.k = k.view().Slice(2, begin, begin + 20);
      piece.v = v.view().Slice(2, begin, begin + 20);
      piece.query_offset = QueryOffset::At(-begin);
      results.push_back(Attend(piece, {.lse = true}));
    }
    for (const AttentionResult& result : results) {
      parts.push_back({result.out, result.lse});
    }
    const AttentionResult merged = MergeAttention(parts);
    const double least = 4 * Epsilon(type) * 2;  // 4 eps max|v|
    EXPECT_TRUE(
        AllWithin(merged.out, truth.out,
                  std::max(2 * Compare(full.out, truth.out).value, least)));
    EXPECT_TRUE(
        AllWithin(merged.lse, truth.lse,
                  std::max(2 * Compare(full.lse, truth.lse).value, least)));
  }
}

class MergeCornersTest : public testing::TestWithParam<DType> {
 protected:
  Part Row(double lse, const std::vector<double>& out) {
    return Part(GetParam(), lse, out);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, MergeCornersTest,
                         testing::Values(DType::kF32, DType::kF64),
                         [](const auto& info) { return Name(info.param); });

TEST_P(MergeCornersTest, AKnownAnswer) {
  // Weights 1 : 3.
  std::vector<Part> parts;
  parts.push_back(Row(std::log(2.0), {8, -4}));
  parts.push_back(Row(std::log(6.0), {0, 4}));
  const AttentionResult merged = Merged(parts);
  const double tolerance = 4 * Epsilon(GetParam());
  EXPECT_NEAR(Get(merged.out, 0), 2, 2 * tolerance);
  EXPECT_NEAR(Get(merged.out, 1), 2, 2 * tolerance);
  EXPECT_NEAR(Get(merged.lse, 0), std::log(8.0), tolerance);
  EXPECT_FALSE(merged.weights.given());
}

TEST_P(MergeCornersTest, EmptyPartsAreNotRead) {
  std::vector<Part> parts;
  parts.push_back(Row(-kInf, {kNaN, kInf}));
  parts.push_back(Row(1.25, {0.1, -0.3}));
  parts.push_back(Row(-kInf, {kNaN, kNaN}));
  const AttentionResult merged = Merged(parts);
  EXPECT_TRUE(SameBits(merged.out, parts[1].out));
  EXPECT_TRUE(SameBits(merged.lse, parts[1].lse));
}

TEST_P(MergeCornersTest, NothingAtAllIsAnEmptyRow) {
  std::vector<Part> parts;
  parts.push_back(Row(-kInf, {kNaN, 3}));
  parts.push_back(Row(-kInf, {1, kInf}));
  const AttentionResult merged = Merged(parts);
  const Part empty = Row(-kInf, {0, 0});
  EXPECT_TRUE(SameBits(merged.out, empty.out));
  EXPECT_TRUE(SameBits(merged.lse, empty.lse));

  Part into = Row(7, {7, 7});
  MergeAttention({}, into.out.mutable_view(), into.lse.mutable_view());
  EXPECT_TRUE(SameBits(into.out, empty.out));
  EXPECT_TRUE(SameBits(into.lse, empty.lse));
}

TEST_P(MergeCornersTest, OnePartComesOutBitForBit) {
  std::vector<Part> parts;
  parts.push_back(Row(-87.3, {0.1, 1e-30, -1e30, -0.0}));
  const AttentionResult merged = Merged(parts);
  EXPECT_TRUE(SameBits(merged.out, parts[0].out));
  EXPECT_TRUE(SameBits(merged.lse, parts[0].lse));
}

TEST_P(MergeCornersTest, FarApart) {
  for (const double far : {800.0, 1e4, 1e30}) {
    std::vector<Part> parts;
    parts.push_back(Row(-far, {5}));
    parts.push_back(Row(far, {0.7}));
    parts.push_back(Row(0, {9}));
    const AttentionResult merged = Merged(parts);
    EXPECT_TRUE(SameBits(merged.out, parts[1].out)) << far;
    EXPECT_TRUE(SameBits(merged.lse, parts[1].lse)) << far;
  }
}

TEST_P(MergeCornersTest, TheLargestLseThereIs) {
  const double largest = GetParam() == DType::kF32
                             ? std::numeric_limits<float>::max()
                             : std::numeric_limits<double>::max();
  std::vector<Part> parts;
  parts.push_back(Row(largest, {2}));
  parts.push_back(Row(-largest, {100}));
  parts.push_back(Row(largest, {4}));
  const AttentionResult merged = Merged(parts);
  EXPECT_EQ(Get(merged.out, 0), 3);
  EXPECT_EQ(Get(merged.lse, 0), largest);
}

TEST_P(MergeCornersTest, WhatIsNotFiniteStaysInItsPlace) {
  for (const double lse : {kNaN, kInf}) {
    std::vector<Part> parts;
    parts.push_back(Row(1, {1, 2}));
    parts.push_back(Row(lse, {1, 2}));
    const AttentionResult merged = Merged(parts);
    EXPECT_TRUE(std::isnan(Get(merged.lse, 0)));
    EXPECT_TRUE(std::isnan(Get(merged.out, 0)));
    EXPECT_TRUE(std::isnan(Get(merged.out, 1)));
  }
  std::vector<Part> parts;
  parts.push_back(Row(1, {1, 2, 3}));
  parts.push_back(Row(1, {kNaN, kInf, 3}));
  AttentionResult merged = Merged(parts);
  EXPECT_TRUE(std::isnan(Get(merged.out, 0)));
  EXPECT_EQ(Get(merged.out, 1), kInf);
  EXPECT_EQ(Get(merged.out, 2), 3);
  EXPECT_TRUE(std::isfinite(Get(merged.lse, 0)));
  // Visible, with a share that is too small to count.
  Set(parts[1].lse, 0, -1e5);
  merged = Merged(parts);
  EXPECT_FALSE(std::isfinite(Get(merged.out, 1)));
  EXPECT_EQ(Get(merged.out, 2), 3);
}

TEST_P(MergeCornersTest, SizesOfZero) {
  for (const Dims& shape :
       {Dims{0, 2, 3, 4}, Dims{1, 0, 3, 4}, Dims{1, 2, 0, 4}}) {
    std::vector<Part> parts;
    parts.emplace_back(GetParam(), shape);
    EXPECT_EQ(Merged(parts).out.shape(), shape);
  }
  std::vector<Part> parts;
  parts.emplace_back(GetParam(), Dims{1, 1, 2, 0});
  Set(parts[0].lse, 1, 3);
  EXPECT_TRUE(SameBits(Merged(parts).lse, parts[0].lse));
}

// More rows than one task has, more columns than one chunk.
TEST_P(MergeCornersTest, SameBitsForThreadsAndStrides) {
  constexpr int64_t kQueries = 50, kSize = 300;
  const Dims shape = {2, 3, kQueries, kSize}, rows = {2, 3, kQueries};
  Numbers numbers(3);
  std::vector<Part> parts;
  for (int p = 0; p < 3; ++p) {
    parts.emplace_back(GetParam(), shape);
    for (int64_t i = 0; i < parts.back().out.NumElements(); ++i) {
      Set(parts.back().out, i, numbers.Uniform());
    }
    for (int64_t i = 0; i < parts.back().lse.NumElements(); ++i) {
      Set(parts.back().lse, i, numbers.OneIn(4) ? -kInf : numbers.Uniform());
    }
  }
  const AttentionResult once = Merged(parts, 1);
  for (const int threads : {2, 5}) {
    const AttentionResult again = Merged(parts, threads);
    EXPECT_TRUE(SameBits(again.out, once.out));
    EXPECT_TRUE(SameBits(again.lse, once.lse));
  }
  for (int layout = 1; layout < kLayouts; ++layout) {
    const auto strided = [&](const Tensor& tensor, const Dims& dims) {
      GuardedArray array(GetParam(), dims, static_cast<Layout>(layout));
      const Tensor wide = Converted(tensor, DType::kF64);
      for (int64_t i = 0; i < wide.NumElements(); ++i) {
        array.Set(i, wide.As<double>()[i]);
      }
      return array;
    };
    std::vector<GuardedArray> arrays;
    for (const Part& part : parts) {
      arrays.push_back(strided(part.out, shape));
      arrays.push_back(strided(part.lse, rows));
    }
    std::vector<PartialAttention> views;
    for (size_t p = 0; p < parts.size(); ++p) {
      views.push_back({arrays[2 * p].view(), arrays[2 * p + 1].view()});
    }
    GuardedArray out(GetParam(), shape, static_cast<Layout>(layout));
    GuardedArray lse(GetParam(), rows, static_cast<Layout>(layout));
    MergeAttention(views, out.view(), lse.view());
    EXPECT_TRUE(SameBits(Tensor::CopyOf(out.view()), once.out)) << layout;
    EXPECT_TRUE(SameBits(Tensor::CopyOf(lse.view()), once.lse)) << layout;
    EXPECT_TRUE(out.GuardsIntact() && lse.GuardsIntact()) << layout;
  }
}

std::string Message(std::span<const PartialAttention> parts,
                    const MutableTensorView& out,
                    const MutableTensorView& lse = {}) {
  try {
    MergeAttention(parts, out, lse);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MergeErrorsTest, NameArgumentShapesAndRule) {
  std::vector<Part> parts;
  parts.emplace_back(DType::kF32, Dims{1, 2, 3, 4});
  parts.emplace_back(DType::kF32, Dims{1, 2, 3, 5});
  Part into(DType::kF32, Dims{1, 2, 3, 4});
  const MutableTensorView out = into.out.mutable_view();
  EXPECT_THAT(Message(Views(parts), out),
              HasSubstr("MergeAttention: parts[1].out: shape [1, 2, 3, 5] is "
                        "not [B, Hq, Lq, Dv] = [1, 2, 3, 4]"));
  parts[1] = Part(DType::kF64, Dims{1, 2, 3, 4});
  EXPECT_THAT(Message(Views(parts), out),
              HasSubstr("parts[1].out: type f64 beside out of f32"));
  parts[1] = Part(DType::kF32, Dims{1, 2, 3, 4});
  std::vector<PartialAttention> views = Views(parts);
  views[1].lse = parts[1].lse.view().Slice(2, 0, 2);
  EXPECT_THAT(Message(views, out), HasSubstr("parts[1].lse: shape [1, 2, 2]"));
  views[1] = {};
  EXPECT_THAT(Message(views, out), HasSubstr("parts[1].out: shape []"));
  EXPECT_THAT(Message({}, {}), HasSubstr("out: shape [] has rank 0"));
  const Tensor bytes(DType::kU8, {1, 1, 1, 1});
  EXPECT_THAT(
      Message({}, {const_cast<uint8_t*>(bytes.As<uint8_t>()), {1, 1, 1, 1}}),
      HasSubstr("out: type u8"));
  EXPECT_THROW(MergeAttention({}), Error);
}

TEST(MergeErrorsTest, OverlapIsRefused) {
  std::vector<Part> parts;
  parts.emplace_back(DType::kF32, Dims{1, 2, 3, 4});
  Part into(DType::kF32, Dims{1, 2, 3, 4});
  const std::vector<PartialAttention> views = Views(parts);
  EXPECT_THAT(Message(views, parts[0].out.mutable_view()),
              HasSubstr("out: shares memory with parts[0]"));
  EXPECT_THAT(
      Message(views, into.out.mutable_view(), parts[0].lse.mutable_view()),
      HasSubstr("lse: shares memory with parts[0]"));
  float* memory = into.out.AsMutable<float>();
  EXPECT_THAT(Message(views, into.out.mutable_view(), {memory, {1, 2, 3}}),
              HasSubstr("lse: shares memory with out"));
  EXPECT_THAT(Message(views, {memory, DType::kF32, {1, 2, 3, 4}, {0, 0, 0, 1}}),
              HasSubstr("out: shares memory with itself"));
}

}  // namespace
}  // namespace regard::inline v0
