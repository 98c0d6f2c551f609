// Measured rows as JSON and as csv.
#ifndef REGARD_SRC_CLI_BENCH_REPORT_H_
#define REGARD_SRC_CLI_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "bench/measure.h"
#include "io/json.h"

namespace regard::inline v0 {

Json BenchJson(const std::vector<BenchResult>& results);
std::string BenchCsv(const std::vector<BenchResult>& results);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_BENCH_REPORT_H_
