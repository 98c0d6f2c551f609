// The rows of `regard bench --all` (src/bench/table.cc) under Google Benchmark:
// its filters, repetitions and formats. `share` is of the peak that is measured
// in turns with the work.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/measure.h"
#include "bench/schedule.h"
#include "bench/table.h"

namespace regard::inline v0 {
namespace {

std::string NameOf(const BenchRow& row) {
  const auto part = [](const char* name, int64_t value) {
    return std::string("/") + name + ":" + std::to_string(value);
  };
  std::string name = row.work + "/" + Name(row.dtype);
  name += part("D", row.d) + part("Lq", row.lq) + part("L", row.lk) +
          part("Hq", row.hq) + part("Hkv", row.hkv) +
          part("threads", row.threads);
  if (!row.instruction_set.empty()) name += "/" + row.instruction_set;
  return name;
}

void Count(benchmark::State& state, const BenchResult& result) {
  state.SetLabel(result.kernel + " " + result.row.instruction_set);
  state.counters["share"] = result.share;
  state.counters["cpu_share"] = result.cpu_share;
  state.counters[result.of == Peak::kFma ? "peak_gflops" : "read_gb"] =
      result.peak_rate / 1e9;
  if (result.ratio) state.counters["ratio"] = *result.ratio;
  if (result.row.bar) state.counters["bar"] = *result.row.bar;
  if (result.memory) {
    state.counters["memory_MB"] = static_cast<double>(*result.memory) / 1e6;
  }
}

void MeasureRow(benchmark::State& state, const BenchRow& row) {
  RowMeasurement measurement(row, {});
  for (auto _ : state) state.SetIterationTime(measurement.Run().wall);
  Count(state, measurement.Result());
}

void Register() {
  constexpr double kLongest = 3600;
  const std::vector<BenchRow> rows = ChooseRows({.all = true});
  for (const ScheduledRow& scheduled :
       Schedule(rows, QuickPeak(rows.front()), kLongest)) {
    benchmark::RegisterBenchmark(NameOf(scheduled.row).c_str(), MeasureRow,
                                 scheduled.row)
        ->UseManualTime()
        ->Iterations(scheduled.runs)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace regard::inline v0

int main(int argc, char** argv) {
  regard::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
