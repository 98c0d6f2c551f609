// Measured rows as a picture.
#ifndef REGARD_SRC_CLI_BENCH_CHART_H_
#define REGARD_SRC_CLI_BENCH_CHART_H_

#include <string>
#include <vector>

#include "bench/measure.h"

namespace regard::inline v0 {

// "svg" or "png": the shares, grouped by work, and the bars that they have to
// reach.
std::string BenchPicture(const std::string& format,
                         const std::vector<BenchResult>& results);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_BENCH_CHART_H_
