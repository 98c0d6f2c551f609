#include "bench/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/parallel_for.h"
#include "bench/work_list.h"

namespace regard::inline v0 {
namespace {

std::set<std::string> WorksOf(const std::vector<BenchRow>& rows) {
  std::set<std::string> works;
  for (const BenchRow& row : rows) works.insert(row.work);
  return works;
}

TEST(BenchTable, EveryWorkIsInIt) {
  const std::vector<std::string> names = WorkNames();
  EXPECT_EQ(WorksOf(ChooseRows({.all = true})),
            std::set<std::string>(names.begin(), names.end()));
}

void ExpectNoRowTwice(const TableChoice& choice) {
  std::set<std::string> seen;
  for (const BenchRow& row : ChooseRows(choice)) {
    std::string key = row.work + Name(row.dtype) + row.instruction_set;
    for (const int64_t number :
         {row.d, row.lq, row.lk, row.hq, row.hkv, int64_t{row.threads}}) {
      key += " " + std::to_string(number);
    }
    if (row.versus) key += row.VersusText();
    EXPECT_TRUE(seen.insert(key).second) << key;
  }
}

TEST(BenchTable, NoRowStandsTwice) {
  ExpectNoRowTwice({.all = true});
  ExpectNoRowTwice({.all = true, .instruction_set = "SSE4", .threads = 5});
}

TEST(BenchTable, PlainRowsHaveBars) {
  for (const BenchRow& row : ChooseRows({})) {
    EXPECT_TRUE(row.bar || row.dtype == DType::kBF16) << row.work;
  }
}

TEST(BenchTable, Bf16HasBarsWhereTheProcessorHasItsDotProduct) {
  for (const char* set : {"AVX3_BF16", "AVX3", "SSE4"}) {
    const std::vector<BenchRow> rows = ChooseRows(
        {.works = {"forward"}, .dtype = DType::kBF16, .instruction_set = set});
    ASSERT_FALSE(rows.empty());
    for (const BenchRow& row : rows) {
      EXPECT_EQ(row.bar.has_value(), set == std::string("AVX3_BF16")) << set;
      EXPECT_EQ(row.versus->figure, Figure::kSpeed);
    }
  }
}

TEST(BenchTable, TwoThreadsHaveBarsOfTheirOwn) {
  if (ResolveThreads(0) < 2) GTEST_SKIP() << "one core";
  const std::vector<BenchRow> rows =
      ChooseRows({.works = {"causal"}, .d = 128, .length = 16384});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].threads, 1);
  EXPECT_EQ(rows[0].bar, 0.86);
  EXPECT_EQ(rows[1].threads, 2);
  EXPECT_EQ(rows[1].bar, 0.84);
}

TEST(BenchTable, ThreadsThatAreAskedFor) {
  for (const BenchRow& row : ChooseRows({.threads = 3})) {
    EXPECT_EQ(row.threads, 3);
  }
  // One thread can't be compared with one.
  for (const BenchRow& row : ChooseRows({.threads = 1})) {
    EXPECT_FALSE(row.versus && row.versus->threads == 1);
  }
}

TEST(BenchTable, InstructionSetThatIsAskedFor) {
  const std::vector<BenchRow> rows =
      ChooseRows({.all = true, .instruction_set = "SSE4"});
  EXPECT_GT(rows.size(), 20u);
  for (const BenchRow& row : rows) EXPECT_EQ(row.instruction_set, "SSE4");
}

TEST(BenchTable, DropoutIsARow) {
  const std::vector<BenchRow> rows =
      ChooseRows({.all = true, .works = {"dropout"}});
  ASSERT_FALSE(rows.empty());
  const WorkKind& kind = FindWork("dropout");
  WorkParts parts;
  kind.add(rows[0], parts);
  ASSERT_TRUE(parts.problem.dropout);
  EXPECT_GT(parts.problem.dropout->p, 0);
}

TEST(BenchTable, RowsWithoutBarWhereNoOtherIsLeft) {
  const std::vector<BenchRow> rows = ChooseRows({.works = {"alibi"}});
  ASSERT_FALSE(rows.empty());
  EXPECT_FALSE(rows[0].bar);
  EXPECT_TRUE(ChooseRows({.works = {"alibi"}, .d = 65}).empty());
}

TEST(BenchTable, QuickIsShortAndJudgesNothing) {
  for (const BenchRow& row : ChooseRows({.all = true, .quick = true})) {
    EXPECT_LE(row.lk, 1024);
    EXPECT_LE(row.lq, row.lk);
    EXPECT_GE(row.lq, 1);
    EXPECT_FALSE(row.bar);
  }
}

}  // namespace
}  // namespace regard::inline v0
