// The pairs that a work says it has against those that its problem sees.
#include "bench/work_list.h"

#include <gtest/gtest.h>

#include "bench/work.h"
#include "regard/error.h"

namespace regard::inline v0 {
namespace {

TEST(WorkList, UnknownNamesAreRefused) {
  EXPECT_THROW(FindWork("forwards"), Error);
}

// Weights of visible keys are above 0 and all others are 0.
double VisiblePairs(const WorkKind& kind, BenchRow row) {
  row.hkv = 1;
  WorkParts parts;
  kind.add(row, parts);
  const Tensor q(DType::kF32, {1, 1, row.lq, row.d});
  const Tensor k(DType::kF32, KeyShape(row, parts));
  parts.problem.q = q;
  parts.problem.k = parts.problem.v = KeyView(k, parts);
  const AttentionResult result = Attend(parts.problem, {.weights = true});
  const float* weights = result.weights.As<float>();
  double pairs = 0;
  for (int64_t i = 0; i < result.weights.NumElements(); ++i) {
    pairs += weights[i] > 0;
  }
  return pairs;
}

TEST(WorkList, PairsAreWhatTheProblemSees) {
  for (const WorkKind& kind : Works()) {
    // Around the sizes of windows, chunks, blocks and groups.
    for (const int64_t length : {1, 8, 63, 300, 520}) {
      const BenchRow row = {
          .work = kind.name, .d = 4, .lq = length, .lk = length, .hq = 1};
      EXPECT_EQ(kind.pairs(row), VisiblePairs(kind, row))
          << kind.name << " " << length;
    }
  }
}

TEST(WorkList, QueriesStandAtTheLastKeys) {
  for (const char* name : {"causal", "window", "decode"}) {
    for (const int64_t queries : {1, 3, 40}) {
      const BenchRow row = {
          .work = name, .d = 4, .lq = queries, .lk = 300, .hq = 1};
      EXPECT_EQ(FindWork(name).pairs(row), VisiblePairs(FindWork(name), row))
          << name << " " << queries;
    }
  }
}

TEST(Work, CountsUsefulOperations) {
  BenchRow row = {.work = "causal", .d = 16, .lq = 10, .lk = 10, .hq = 3};
  row.hkv = 3;
  EXPECT_EQ(UsefulOperations(row), 3 * 55 * 4 * 16.0);
  const Work work(row);
  EXPECT_EQ(work.operations(), UsefulOperations(row));
  EXPECT_EQ(work.stream_bytes(), 2 * 3 * 10 * 16 * 4.0);
  EXPECT_EQ(work.array_bytes(), 4 * 3 * 10 * 16 * 4);
}

}  // namespace
}  // namespace regard::inline v0
