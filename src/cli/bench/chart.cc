#include "cli/bench/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/strings.h"
#include "cli/bench/text.h"
#include "cli/machine.h"
#include "cli/text_layout.h"
#include "regard/version.h"
#include "render/bar_chart.h"
#include "render/format_list.h"

namespace regard::inline v0 {

namespace {

// What a row has beyond the ordinary is named, the rest is the same everywhere.
std::string Label(const BenchResult& result, const std::string& usual_set) {
  const BenchRow& row = result.row;
  std::vector<std::string> parts;
  if (row.dtype != DType::kF32) parts.emplace_back(Name(row.dtype));
  if (row.instruction_set != usual_set) parts.push_back(row.instruction_set);
  parts.push_back("D " + std::to_string(row.d));
  if (row.lq != row.lk) parts.push_back("Lq " + std::to_string(row.lq));
  parts.push_back("L " + std::to_string(row.lk));
  if (row.hq != row.hkv) {
    parts.push_back(fmt::format("heads {}/{}", row.hq, row.hkv));
  } else if (row.hq != BenchRow().hq) {
    parts.push_back(Counted(row.hq, "head"));
  }
  parts.push_back(Counted(row.threads, "thread"));
  return Join(parts);
}

ChartBar BarOf(const BenchResult& result, const std::string& usual_set) {
  ChartBar bar;
  bar.label = Label(result, usual_set);
  bar.value = result.share;
  if (const std::optional<bool> met = result.Met()) {
    bar.kind = *met ? ChartBar::Kind::kGood : ChartBar::Kind::kBad;
  }
  if (result.row.bar && !result.row.versus) bar.tick = *result.row.bar;
  bar.remark = RatioText(result);
  return bar;
}

// In the order in which they come.
ChartGroup& GroupOf(BarChart& chart, const std::string& work) {
  for (ChartGroup& group : chart.groups) {
    if (group.title == work) return group;
  }
  return chart.groups.emplace_back(ChartGroup{work, {}});
}

std::string Machine() {
  return fmt::format(
      "{}, {}", ProcessorName(),
      Counted(static_cast<int64_t>(std::thread::hardware_concurrency()),
              "core"));
}

}  // namespace

std::string BenchPicture(const std::string& format,
                         const std::vector<BenchResult>& results) {
  const std::string& usual_set = results.front().row.instruction_set;
  BarChart chart;
  chart.title = "How near to the peak: " + Machine();
  chart.axis =
      "Share of what this machine can do, measured in turns: multiply-adds of "
      "visible pairs, for decode keys and values read; " +
      usual_set + " unless another is named";
  chart.good = "reaches its bar";
  chart.bad = "misses it";
  chart.plain = "has none";
  chart.tick = "the bar (where it is a share)";
  for (const BenchResult& result : results) {
    GroupOf(chart, result.row.work).bars.push_back(BarOf(result, usual_set));
  }
  PictureOptions options;
  options.provenance = {{"program", "regard " REGARD_VERSION},
                        {"compiler", CompilerName()},
                        {"processor", ProcessorName()}};
  return ScenePicture(format, BarChartScene(chart), options);
}

}  // namespace regard::inline v0
