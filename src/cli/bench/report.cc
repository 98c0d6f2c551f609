#include "cli/bench/report.h"

#include <cmath>
#include <thread>
#include <utility>

#include "cli/machine.h"
#include "io/csv.h"
#include "regard/attention.h"
#include "regard/version.h"

namespace regard::inline v0 {

namespace {

// No clock tells more digits.
Json Rounded(double value, double digits_behind_point) {
  const double power = std::pow(10, digits_behind_point);
  return std::round(value * power) / power;
}

Json Share(double value) { return Rounded(value, 4); }

Json OrNull(const std::optional<double>& value) {
  return value ? Share(*value) : Json();
}

Json MachineJson() {
  Json::Array sets;
  for (const std::string& set : UsableInstructionSets()) sets.push_back(set);
  Json machine;
  machine.Set("processor", ProcessorName());
  machine.Set("cores",
              static_cast<int64_t>(std::thread::hardware_concurrency()));
  machine.Set("instruction_sets", std::move(sets));
  machine.Set("compiler", CompilerName());
  machine.Set("version", REGARD_VERSION);
  return machine;
}

// Every row has every member, so that a table can be made of them.
Json::Object RowObject(const BenchResult& result) {
  const BenchRow& row = result.row;
  const std::optional<bool> met = result.Met();
  return {
      {"work", row.work},
      {"dtype", Name(row.dtype)},
      {"D", row.d},
      {"L", row.lk},
      {"Lq", row.lq},
      {"Hq", row.hq},
      {"Hkv", row.hkv},
      {"threads", row.threads},
      {"isa", row.instruction_set},
      {"share", Share(result.share)},
      {"of", Name(result.of)},
      {"runs", result.runs},
      {"kernel", result.kernel},
      {"clock", result.by_wall_time ? "wall" : "processor"},
      {"wall_share", Share(result.wall_share)},
      {"cpu_share", Share(result.cpu_share)},
      {"ratio", OrNull(result.ratio)},
      {"ratio_of", row.versus ? Json(Name(row.versus->figure)) : Json()},
      {"ratio_to", row.versus ? Json(row.VersusText()) : Json()},
      {"bar", OrNull(row.bar)},
      {"met", met ? Json(*met) : Json()},
      {"milliseconds", Rounded(result.seconds * 1e3, 4)},
      {"rate", Rounded(result.rate / 1e9, 3)},
      {"peak", Rounded(result.peak_rate / 1e9, 3)},
      {"unit", result.of == Peak::kFma ? "GFLOP/s" : "GB/s"},
      {"array_bytes", result.array_bytes},
      {"memory_bytes", result.memory ? Json(*result.memory) : Json()},
  };
}

std::string CellText(const Json& value) {
  if (value.IsNull()) return "";
  return value.IsString() ? value.AsString("") : value.Dump();
}

}  // namespace

Json BenchJson(const std::vector<BenchResult>& results) {
  Json::Array rows;
  for (const BenchResult& result : results) {
    rows.push_back(RowObject(result));
  }
  Json out;
  out.Set("machine", MachineJson());
  out.Set("rows", std::move(rows));
  return out;
}

std::string BenchCsv(const std::vector<BenchResult>& results) {
  CsvText csv;
  for (const BenchResult& result : results) {
    const Json::Object row = RowObject(result);
    if (&result == &results.front()) {
      for (const auto& [name, value] : row) csv.Cell(name);
      csv.EndRow();
    }
    for (const auto& [name, value] : row) csv.Cell(CellText(value));
    csv.EndRow();
  }
  return csv.Take();
}

}  // namespace regard::inline v0
