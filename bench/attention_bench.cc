// The forward kernel as a share of the multiply-add peak, decoding as a share
// of a streaming read of the same keys and values. Machines are shared and
// noisy: the peak and the kernel are measured in turns, in one run, and the
// share is the median of the ratios of neighbours. Only visible pairs count, 2
// (D + Dv) operations each; each byte of keys and values counts once.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "fma_peak.h"
#include "regard/attention.h"
#include "stream_read.h"

namespace regard::inline v0 {
namespace {

struct Cost {
  double wall = 0, cpu = 0;  // seconds; cpu of all threads together
};

double Clock(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
Cost CostOf(const Work& work) {
  const double wall = Clock(CLOCK_MONOTONIC);
  const double cpu = Clock(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return {Clock(CLOCK_MONOTONIC) - wall, Clock(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

Tensor Random(const Dims& shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::kF32, shape);
  float* values = tensor.AsMutable<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    values[i] = normal(generator);
  }
  return tensor;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Runs `work`, worth `operations`, and the peak in turns.
template <typename Work>
void Share(benchmark::State& state, double operations, int threads,
           const Work& work) {
  // About as long as the work itself, so that both meet the same noise.
  constexpr int64_t kRounds = 1000000;
  RunFmaChains(kRounds, threads);
  work();
  std::vector<double> shares, cpu_shares, peaks;
  for (auto _ : state) {
    double done = 0;
    const Cost peak = CostOf([&] { done = RunFmaChains(kRounds, threads); });
    const Cost cost = CostOf(work);
    state.SetIterationTime(cost.wall);
    shares.push_back(operations / cost.wall / (done / peak.wall));
    cpu_shares.push_back(operations / cost.cpu / (done / peak.cpu));
    peaks.push_back(done / peak.wall);
  }
  state.counters["share"] = Median(shares);
  // The same by processor time: what remains on a machine whose cores are taken
  // away now and then.
  state.counters["cpu_share"] = Median(cpu_shares);
  state.counters["peak_gflops"] = Median(peaks) / 1e9;
}

// Arguments: D, L, threads, causal.
void Forward(benchmark::State& state) {
  const int64_t d = state.range(0), length = state.range(1);
  const int threads = static_cast<int>(state.range(2));
  const bool causal = state.range(3) != 0;
  const int64_t heads = 8;
  const Tensor q = Random({1, heads, length, d}, 1);
  const Tensor k = Random({1, heads, length, d}, 2);
  const Tensor v = Random({1, heads, length, d}, 3);
  AttentionProblem problem;
  problem.q = q;
  problem.k = k;
  problem.v = v;
  if (causal) problem.mask = Mask::Causal();
  AttentionOptions options;
  options.threads = threads;
  AttentionPlan plan(problem, options);
  Tensor out(DType::kF32, {1, heads, length, d});
  AttentionOutputs outputs;
  outputs.out = out.mutable_view();
  const double pairs = static_cast<double>(heads) *
                       (causal ? static_cast<double>(length * (length + 1)) / 2
                               : static_cast<double>(length * length));
  state.SetLabel(plan.kernel() + " " + plan.instruction_set());
  Share(state, pairs * 4 * static_cast<double>(d), threads,
        [&] { plan.Run(problem, outputs); });
}
BENCHMARK(Forward)
    ->ArgNames({"D", "L", "threads", "causal"})
    ->ArgsProduct({{64, 128}, {2048}, {1, 2}, {0, 1}})
    ->Args({64, 16384, 1, 0})
    ->Args({64, 16384, 1, 1})
    ->Args({80, 2048, 1, 0})
    ->Args({64, 2047, 1, 0})
    ->UseManualTime()
    ->MinTime(2.0)
    ->Unit(benchmark::kMillisecond);

// Arguments: query heads, Lq, Lk, threads. 8 kv heads, D 128.
void Decode(benchmark::State& state) {
  const int64_t heads = state.range(0), queries = state.range(1);
  const int64_t keys = state.range(2), kv_heads = 8, d = 128;
  const int threads = static_cast<int>(state.range(3));
  const Tensor q = Random({1, heads, queries, d}, 1);
  const Tensor k = Random({1, kv_heads, keys, d}, 2);
  const Tensor v = Random({1, kv_heads, keys, d}, 3);
  AttentionProblem problem;
  problem.q = q;
  problem.k = k;
  problem.v = v;
  AttentionOptions options;
  options.threads = threads;
  AttentionPlan plan(problem, options);
  Tensor out(DType::kF32, {1, heads, queries, d});
  AttentionOutputs outputs;
  outputs.out = out.mutable_view();
  const size_t count = static_cast<size_t>(k.NumElements());
  const std::span<const float> arrays[] = {{k.As<float>(), count},
                                           {v.As<float>(), count}};
  const auto read = [&] { RunStreamRead(arrays, threads); };
  const auto work = [&] { plan.Run(problem, outputs); };
  read();
  work();
  std::vector<double> shares, cpu_shares, rates;
  for (auto _ : state) {
    const Cost peak = CostOf(read);
    const Cost cost = CostOf(work);
    state.SetIterationTime(cost.wall);
    shares.push_back(peak.wall / cost.wall);
    cpu_shares.push_back(peak.cpu / cost.cpu);
    rates.push_back(2 * 4 * static_cast<double>(count) / peak.wall);
  }
  state.SetLabel(plan.kernel() + " " + plan.instruction_set());
  state.counters["share"] = Median(shares);
  state.counters["cpu_share"] = Median(cpu_shares);
  state.counters["read_gb"] = Median(rates) / 1e9;
}
BENCHMARK(Decode)
    ->ArgNames({"Hq", "Lq", "Lk", "threads"})
    ->ArgsProduct({{32}, {1}, {16384}, {1, 2}})
    ->Args({8, 1, 16384, 1})
    ->Args({64, 1, 16384, 1})
    ->Args({32, 4, 16384, 1})
    ->Args({32, 8, 16384, 1})
    ->Args({32, 9, 16384, 1})
    ->UseManualTime()
    ->MinTime(1.0)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace regard::inline v0

BENCHMARK_MAIN();
