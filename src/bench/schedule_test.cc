#include "bench/schedule.h"

#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

constexpr double kPeak = 1e11;  // operations a second

BenchRow Square(const char* work, int64_t length) {
  return {.work = work, .lq = length, .lk = length};
}

TEST(Schedule, ShortRowsRunOftenLongOnesThreeTimes) {
  const std::vector<ScheduledRow> schedule =
      Schedule({Square("forward", 64), Square("forward", 16384)}, kPeak, 1e9);
  EXPECT_EQ(schedule[0].runs, 25);
  EXPECT_EQ(schedule[1].runs, 3);
  // 8 heads x 16384^2 pairs x 256 operations, and half a second for the peak.
  EXPECT_NEAR(schedule[1].run_seconds, 5.5 + 0.5, 0.1);
}

TEST(Schedule, TimeIsLimited) {
  const std::vector<BenchRow> rows = {Square("forward", 16384),
                                      Square("causal", 16384)};
  for (const auto& [limit, runs] :
       {std::pair(30.0, 3), std::pair(20.0, 2), std::pair(1.0, 1)}) {
    EXPECT_EQ(Schedule(rows, kPeak, limit)[0].runs, runs) << limit;
  }
}

TEST(Schedule, MemoryIsMeasuredOnce) {
  BenchRow row = Square("memory", 1024);
  row.versus = Versus{.figure = Figure::kMemory, .lq = 256, .lk = 256};
  EXPECT_EQ(Schedule({row}, kPeak, 1e9)[0].runs, 1);
}

}  // namespace
}  // namespace regard::inline v0
