// How often each row runs, and how long that takes.
#ifndef REGARD_SRC_BENCH_SCHEDULE_H_
#define REGARD_SRC_BENCH_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "bench/row.h"

namespace regard::inline v0 {

struct ScheduledRow {
  BenchRow row;
  int64_t runs = 1;
  double run_seconds = 0;  // of one run, an estimate
};

// About two seconds a row and three runs or more, fewer only where the whole
// would last longer than `limit_seconds`. `peak`: see EstimatedSeconds.
std::vector<ScheduledRow> Schedule(const std::vector<BenchRow>& rows,
                                   double peak, double limit_seconds);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_SCHEDULE_H_
