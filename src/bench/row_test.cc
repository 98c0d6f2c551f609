#include "bench/row.h"

#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

TEST(BenchRow, OtherDiffersOnlyWhereItSays) {
  const BenchRow row = {.work = "mask",
                        .d = 72,
                        .hq = 32,
                        .threads = 2,
                        .bar = 1.25,
                        .versus = Versus{.work = "forward", .d = 64}};
  const BenchRow other = row.Other();
  EXPECT_EQ(other.work, "forward");
  EXPECT_EQ(other.d, 64);
  EXPECT_EQ(other.hq, 32);
  EXPECT_EQ(other.threads, 2);
  EXPECT_FALSE(other.versus);
  EXPECT_EQ(row.VersusText(), "forward, D 64");
}

TEST(BenchRow, VersusTextNamesEachDifference) {
  BenchRow row;
  row.versus = Versus{.lq = 2048, .lk = 2048};
  EXPECT_EQ(row.VersusText(), "L 2048");
  row.versus = Versus{.lq = 2048};
  EXPECT_EQ(row.VersusText(), "Lq 2048");
  row.versus = Versus{.dtype = DType::kF64, .threads = 1};
  EXPECT_EQ(row.VersusText(), "f64, 1 thread");
}

TEST(BenchRow, BarsAreMetFromTheRightSide) {
  BenchRow row;
  row.bar = 0.85;
  EXPECT_TRUE(row.IsMetBy(0.85));
  EXPECT_FALSE(row.IsMetBy(0.849));
  row.bar = 1.25;
  for (const Figure figure :
       {Figure::kTime, Figure::kOpTime, Figure::kMemory}) {
    row.versus = Versus{.figure = figure};
    EXPECT_TRUE(row.IsMetBy(1.25));
    EXPECT_FALSE(row.IsMetBy(1.26));
  }
  row.versus = Versus{.figure = Figure::kSpeed};
  EXPECT_TRUE(row.IsMetBy(1.3));
  EXPECT_FALSE(row.IsMetBy(1.2));
  row.bar.reset();
  EXPECT_FALSE(row.IsMetBy(1.3));
}

}  // namespace
}  // namespace regard::inline v0
