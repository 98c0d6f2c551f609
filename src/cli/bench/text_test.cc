#include "cli/bench/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/display_width.h"
#include "bench/table.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

BenchResult Result(const BenchRow& row, double share,
                   std::optional<double> ratio = std::nullopt) {
  BenchResult result;
  result.row = row;
  result.row.instruction_set = "AVX3";
  result.share = result.wall_share = result.cpu_share = share;
  result.ratio = ratio;
  result.peak_rate = 117e9;
  return result;
}

// A pipe, so 80 columns.
BenchText Table(const std::vector<BenchRow>& rows) {
  return BenchText(rows, Console());
}

const BenchRow kShare = {.work = "causal", .bar = 0.8};
const BenchRow kRatio = {
    .work = "mask", .bar = 1.25, .versus = Versus{.work = "forward"}};

TEST(BenchTextTest, RowsSayWhetherTheirBarIsMet) {
  BenchText table = Table({kShare, kRatio});
  EXPECT_THAT(table.Row(Result(kShare, 0.8)),
              EndsWith(" 80.0 % met          ≥80 %\n"));
  EXPECT_THAT(table.Row(Result(kShare, 0.79)),
              EndsWith(" 79.0 % missed       ≥80 %\n"));
  EXPECT_THAT(table.Row(Result(kRatio, 0.7, 1.2)),
              EndsWith(" 70.0 % met     1.20 ≤1.25 time, forward\n"));
  EXPECT_THAT(table.Row(Result(kRatio, 0.7)),
              EndsWith(" 70.0 % ?            ≤1.25 time, forward\n"));
  EXPECT_THAT(table.Row(Result({.work = "alibi"}, 0.5)), EndsWith(" 50.0 %\n"));
}

TEST(BenchTextTest, InstructionSetIsNamedWhereItChanges) {
  BenchText table = Table({kShare});
  EXPECT_THAT(table.Row(Result(kShare, 0.8)), HasSubstr("AVX3\n"));
  EXPECT_THAT(table.Row(Result(kShare, 0.8)), Not(HasSubstr("AVX3")));
  BenchResult other = Result(kShare, 0.8);
  other.row.instruction_set = "AVX2";
  EXPECT_THAT(table.Row(other), HasSubstr("AVX2\n"));
}

TEST(BenchTextTest, FitsEightyColumns) {
  const std::vector<BenchRow> rows = ChooseRows({.all = true});
  BenchText table = Table(rows);
  std::vector<BenchResult> results;
  std::string text = table.Head();
  for (const BenchRow& row : rows) {
    results.push_back(
        Result(row, 1.234, row.versus ? std::optional(10.25) : std::nullopt));
    text += table.Row(results.back());
  }
  text += table.Foot(results);
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos;
       begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    EXPECT_LE(DisplayWidth(line), 80) << line;
  }
}

TEST(BenchTextTest, FootCountsBars) {
  const std::vector<BenchResult> results = {
      Result(kShare, 0.9), Result(kShare, 0.7), Result({}, 0.5)};
  const std::string foot = Table({kShare}).Foot(results);
  EXPECT_THAT(foot, AllOf(HasSubstr("117 GFLOP/s"), HasSubstr("1 of\n2 bars"),
                          Not(HasSubstr("other programs"))));
  BenchResult waiting = Result(kShare, 0.9);
  waiting.by_wall_time = true;
  waiting.wall_share = 0.5;
  EXPECT_THAT(Table({kShare}).Foot({waiting}), HasSubstr("cpu_share"));
}

}  // namespace
}  // namespace regard::inline v0
