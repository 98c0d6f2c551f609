// The program as a person runs it, a whole process at a time: wall time and
// peak resident memory. The model has to be in the cache folder.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

extern char** environ;

namespace {

struct Cost {
  double seconds = 0;
  double megabytes = 0;
  bool ok = false;
};

Cost RunOnce(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  Cost cost;
  if (failed != 0) return cost;
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  cost.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  cost.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  cost.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return cost;
}

void Process(benchmark::State& state, std::vector<std::string> words) {
  words.insert(words.begin(), REGARD_PROGRAM);
  RunOnce(words);  // warms the file cache
  double peak = 0;
  for (auto _ : state) {
    const Cost cost = RunOnce(words);
    if (!cost.ok) {
      state.SkipWithError("the program failed");
      return;
    }
    state.SetIterationTime(cost.seconds);
    peak = std::max(peak, cost.megabytes);
  }
  state.counters["peak_MB"] = peak;
}

const char kSentence[] =
    "The animal didn't cross the street because it was too tired.";

void Register(const char* name, std::vector<std::string> words) {
  benchmark::RegisterBenchmark(name, Process, std::move(words))
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(15)
      ->Repetitions(3)
      ->ReportAggregatesOnly();
}

}  // namespace

int main(int argc, char** argv) {
  Register("help", {"--help"});
  Register("sentence_to_svg",
           {"map", kSentence, "-o", "/dev/null", "--format", "svg"});
  Register("sentence_to_png",
           {"map", kSentence, "-o", "/dev/null", "--format", "png"});
  Register("rank", {"rank", kSentence, "--from", "it", "--to", "animal"});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
