#include "bench/measure.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#include "bench/fma_peak.h"
#include "bench/resident.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

namespace {

double Clock(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Body>
Cost CostOf(const Body& body) {
  const double wall = Clock(CLOCK_MONOTONIC);
  const double cpu = Clock(CLOCK_PROCESS_CPUTIME_ID);
  body();
  return {Clock(CLOCK_MONOTONIC) - wall, Clock(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  if (values.empty()) return 0;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2;
}

// Calls that together last at least so long.
int64_t RepeatsFor(double seconds, double least) {
  constexpr double kMost = 1e6;
  const double needed = std::ceil(least / std::max(seconds, 1e-9));
  return static_cast<int64_t>(std::clamp(needed, 1.0, kMost));
}

// The peak that a row is held against, for as long as the work lasts, so that
// both meet the same noise.
class Probe {
 public:
  Probe(const BenchRow& row, const Work& work, Peak peak)
      : row_(row),
        target_(FindSimdTarget(row.instruction_set, "instruction set")),
        peak_(peak),
        work_(work) {}

  // What it lasts at most: noise that is slower than this is lost.
  void Calibrate(double seconds) {
    constexpr double kLongest = 0.5;
    constexpr int64_t kTrial = 100000;
    step_ = peak_ == Peak::kFma ? kTrial : 1;
    steps_ = 1;
    Run();  // warms up
    steps_ =
        RepeatsFor(CostOf([&] { Run(); }).wall, std::min(seconds, kLongest));
  }

  // Returns operations or bytes.
  double Run() const {
    if (peak_ == Peak::kFma) {
      return RunFmaChains(row_.dtype, target_, step_ * steps_, row_.threads);
    }
    for (int64_t i = 0; i < steps_; ++i) {
      RunStreamRead(work_.streams(), target_, row_.threads);
    }
    return work_.stream_bytes() * static_cast<double>(steps_);
  }

 private:
  const BenchRow row_;
  const SimdTarget target_;
  const Peak peak_;
  const Work& work_;
  int64_t step_ = 1, steps_ = 1;
};

// A work and how it is timed.
struct Timed {
  std::unique_ptr<Work> work;
  int64_t repeats = 1;
  std::optional<int64_t> memory = {};

  // `warm`: a first call tells how many to time.
  Timed(const BenchRow& row, bool warm, double least_seconds)
      : work(std::make_unique<Work>(row)) {
    if (!warm) return;
    work->Plan();
    work->Run();
    repeats = RepeatsFor(CostOf([&] { work->Run(); }).wall, least_seconds);
  }

  // Of one call.
  Cost Run() {
    const Cost cost = CostOf([&] {
      for (int64_t i = 0; i < repeats; ++i) work->Run();
    });
    const auto count = static_cast<double>(repeats);
    return {cost.wall / count, cost.cpu / count};
  }

  // Its memory too, from the plan on.
  Cost RunOnceForMemory() {
    Cost cost;
    memory = ResidentGrowth([&] {
      work->Plan();
      cost = CostOf([&] { work->Run(); });
    });
    return cost;
  }
};

// `cost` and `operations` of a work and of the other.
struct Costly {
  double cost, operations;
};
double RatioOf(Figure figure, const Costly& work, const Costly& other) {
  if (figure == Figure::kSpeed) return other.cost / work.cost;
  const double ratio = work.cost / other.cost;
  if (figure != Figure::kOpTime) return ratio;
  return ratio * (other.operations / work.operations);
}

// Calls that last longer need no warming up, and no second one.
constexpr double kLongCall = 1;

}  // namespace

struct RowMeasurement::State {
  State(const BenchRow& r, const MeasureSettings& s)
      : row(r), settings(s), kind(FindWork(r.work)) {}

  BenchRow row;
  const MeasureSettings settings;
  const WorkKind& kind;
  std::unique_ptr<Timed> timed, other;
  std::unique_ptr<Probe> probe;
  std::vector<double> wall_shares, cpu_shares, seconds, rates, peaks, ratios;
  std::optional<int64_t> memory;

  bool ByWallTime() const {
    return row.threads != 1 || (row.versus && row.Other().threads != 1);
  }
  double Clocked(const Cost& cost) const {
    return ByWallTime() ? cost.wall : cost.cpu;
  }
  double Amount() const {
    return kind.peak == Peak::kFma ? timed->work->operations()
                                   : timed->work->stream_bytes();
  }
  void Prepare();
  void AddRatio(const Cost& cost, const Cost& other_cost);
  void AddShare(const Cost& cost, const Cost& peak, double done);
  Cost RunForMemory();
};

void RowMeasurement::State::Prepare() {
  const double estimate = EstimatedSeconds(row, QuickPeak(row));
  const bool warm = estimate < kLongCall;
  timed = std::make_unique<Timed>(row, warm, settings.least_seconds);
  if (!warm) timed->work->Plan();
  if (row.versus) {
    other = std::make_unique<Timed>(row.Other(), true, settings.least_seconds);
  }
  probe = std::make_unique<Probe>(row, *timed->work, kind.peak);
  probe->Calibrate(settings.least_seconds == 0
                       ? 0
                       : std::max(settings.least_seconds, estimate));
}

void RowMeasurement::State::AddRatio(const Cost& cost, const Cost& other_cost) {
  ratios.push_back(RatioOf(row.versus->figure,
                           {Clocked(cost), timed->work->operations()},
                           {Clocked(other_cost), other->work->operations()}));
}

void RowMeasurement::State::AddShare(const Cost& cost, const Cost& peak,
                                     double done) {
  wall_shares.push_back(Amount() / cost.wall / (done / peak.wall));
  cpu_shares.push_back(Amount() / cost.cpu / (done / peak.cpu));
  seconds.push_back(Clocked(cost));
  rates.push_back(Amount() / Clocked(cost));
  peaks.push_back(done / Clocked(peak));
}

Cost RowMeasurement::State::RunForMemory() {
  // Anew: what stays from one run to the next would hide what a first one
  // takes.
  timed.reset();
  std::optional<int64_t> less;
  if (row.versus) {
    Timed shorter(row.Other(), false, 0);
    shorter.RunOnceForMemory();
    less = shorter.memory;
  }
  timed = std::make_unique<Timed>(row, false, 0);
  probe = std::make_unique<Probe>(row, *timed->work, kind.peak);
  probe->Calibrate(settings.least_seconds > 0 ? kLongCall : 0);
  const Cost cost = timed->RunOnceForMemory();
  memory = timed->memory;
  if (memory && less) {
    // Less than a page is none.
    constexpr double kPage = 4096;
    ratios.push_back(static_cast<double>(*memory) /
                     std::max(static_cast<double>(*less), kPage));
  }
  return cost;
}

RowMeasurement::RowMeasurement(const BenchRow& row,
                               const MeasureSettings& settings)
    : state_(std::make_unique<State>(row, settings)) {
  if (!state_->kind.measures_memory) state_->Prepare();
}

RowMeasurement::~RowMeasurement() = default;

Cost RowMeasurement::Run() {
  State& s = *state_;
  double done = 0;
  Cost peak, cost;
  if (s.kind.measures_memory) {
    cost = s.RunForMemory();
    peak = CostOf([&] { done = s.probe->Run(); });
  } else {
    peak = CostOf([&] { done = s.probe->Run(); });
    const Cost other = s.other ? s.other->Run() : Cost{};
    cost = s.timed->Run();
    if (s.other) s.AddRatio(cost, other);
  }
  s.AddShare(cost, peak, done);
  return cost;
}

BenchResult RowMeasurement::Result() const {
  const State& s = *state_;
  BenchResult result;
  result.row = s.row;
  result.of = s.kind.peak;
  result.row.instruction_set = s.timed->work->plan().instruction_set();
  result.kernel = s.timed->work->plan().kernel();
  result.runs = static_cast<int64_t>(s.wall_shares.size());
  result.by_wall_time = s.ByWallTime();
  result.wall_share = Median(s.wall_shares);
  result.cpu_share = Median(s.cpu_shares);
  result.share = result.by_wall_time ? result.wall_share : result.cpu_share;
  result.seconds = Median(s.seconds);
  result.rate = Median(s.rates);
  result.peak_rate = Median(s.peaks);
  if (!s.ratios.empty()) result.ratio = Median(s.ratios);
  result.memory = s.memory;
  result.array_bytes = s.timed->work->array_bytes();
  return result;
}

std::optional<bool> BenchResult::Met() const {
  if (!row.bar || (row.versus && !ratio)) return std::nullopt;
  return row.IsMetBy(row.versus ? *ratio : share);
}

double QuickPeak(const BenchRow& row) {
  constexpr int64_t kRounds = 1000000;
  const SimdTarget target =
      FindSimdTarget(row.instruction_set, "instruction set");
  double done = 0;
  const Cost cost =
      CostOf([&] { done = RunFmaChains(row.dtype, target, kRounds, 1); });
  return done / cost.wall;
}

double EstimatedSeconds(const BenchRow& row, double peak) {
  // Decoding is bound by reading, at a tenth of the peak or so.
  constexpr double kReading = 10;
  const double slower = FindWork(row.work).peak == Peak::kRead ? kReading : 1;
  return UsefulOperations(row) * slower / (peak * row.threads);
}

}  // namespace regard::inline v0
