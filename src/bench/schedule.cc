#include "bench/schedule.h"

#include <algorithm>

#include "bench/measure.h"
#include "bench/work_list.h"

namespace regard::inline v0 {

namespace {

// The work, the other work, and a probe as long as the work, but no longer than
// half a second.
double RunSeconds(const BenchRow& row, double peak) {
  constexpr double kLongestProbe = 0.5, kShortest = 0.02;
  const double work = EstimatedSeconds(row, peak);
  const double other = row.versus ? EstimatedSeconds(row.Other(), peak) : 0;
  return std::max(work + other + std::min(work, kLongestProbe), kShortest);
}

int64_t RunsOf(const ScheduledRow& scheduled, int64_t least) {
  constexpr double kEnough = 2;  // seconds
  constexpr int64_t kMost = 25;
  // Memory does not depend on noise.
  if (FindWork(scheduled.row.work).measures_memory) return 1;
  const auto fitting = static_cast<int64_t>(kEnough / scheduled.run_seconds);
  return std::clamp(fitting, least, kMost);
}

}  // namespace

std::vector<ScheduledRow> Schedule(const std::vector<BenchRow>& rows,
                                   double peak, double limit_seconds) {
  constexpr int64_t kLeast = 3;
  std::vector<ScheduledRow> schedule;
  for (const BenchRow& row : rows) {
    schedule.push_back({row, 1, RunSeconds(row, peak)});
  }
  for (int64_t least = kLeast; least > 0; --least) {
    double total = 0;
    for (ScheduledRow& scheduled : schedule) {
      scheduled.runs = RunsOf(scheduled, least);
      total += static_cast<double>(scheduled.runs) * scheduled.run_seconds;
    }
    if (total <= limit_seconds) break;
  }
  return schedule;
}

}  // namespace regard::inline v0
