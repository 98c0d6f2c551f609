#include "bench/resident.h"

#include <fstream>
#include <string>

namespace regard::inline v0 {

namespace {

// A line "VmHWM:   123 kB" in bytes.
std::optional<int64_t> StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == name + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

// Makes what is resident now the peak so far.
bool ResetPeak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  return refs.good();
}

}  // namespace

std::optional<int64_t> ResidentGrowth(const std::function<void()>& work) {
  const bool reset = ResetPeak();
  const std::optional<int64_t> before = StatusBytes("VmRSS");
  work();
  const std::optional<int64_t> peak = StatusBytes("VmHWM");
  if (!reset || !before || !peak) return std::nullopt;
  return *peak - *before;
}

}  // namespace regard::inline v0
