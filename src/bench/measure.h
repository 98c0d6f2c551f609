// Machines are shared and noisy: the peak and the work are measured in turns,
// A B A B, and what counts is the median of the ratios of neighbours.
#ifndef REGARD_SRC_BENCH_MEASURE_H_
#define REGARD_SRC_BENCH_MEASURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/row.h"
#include "bench/work.h"

namespace regard::inline v0 {

// Seconds; `cpu` of all threads together.
struct Cost {
  double wall = 0, cpu = 0;
};

struct BenchResult {
  BenchRow row;  // with the instruction set that was used
  Peak of = Peak::kFma;
  std::string kernel;
  int64_t runs = 0;
  // Medians. Work of one thread is timed by the processor's clock, which stands
  // still while other programs have the core; work of several by wall time,
  // since threads that wait for each other cost too.
  bool by_wall_time = false;
  double share = 0, wall_share = 0, cpu_share = 0;  // the first is one of both
  double seconds = 0;                               // of one call
  double rate = 0, peak_rate = 0;  // operations or bytes a second
  // As row.versus says; nothing when it says nothing, or the system tells
  // nothing about memory.
  std::optional<double> ratio;
  // Growth of the resident memory beyond inputs and outputs, bytes.
  std::optional<int64_t> memory;
  int64_t array_bytes = 0;  // of q, k, v and out

  // Whether the row's bar is met; nothing without a bar or a figure.
  std::optional<bool> Met() const;
};

struct MeasureSettings {
  // Each timed piece lasts so long: short calls are repeated. 0: once.
  double least_seconds = 0.01;
};

class RowMeasurement {
 public:
  // Prepares and warms up. Error as AttentionPlan.
  RowMeasurement(const BenchRow& row, const MeasureSettings& settings);
  ~RowMeasurement();

  // Once more the peak, the other work (if any) and the work; returns what one
  // call of it costs.
  Cost Run();
  BenchResult Result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Multiply-adds of one thread at its best, operations a second: for estimates.
double QuickPeak(const BenchRow& row);
// What one call takes at this peak, roughly.
double EstimatedSeconds(const BenchRow& row, double peak);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_MEASURE_H_
