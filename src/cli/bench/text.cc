#include "cli/bench/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/display_width.h"
#include "cli/machine.h"
#include "cli/paint.h"
#include "cli/text_layout.h"

namespace regard::inline v0 {

namespace {

// Names are to the left, numbers to the right.
constexpr size_t kNames = 2;
// "missed", "≥85 %"
constexpr int kVerdict = 6, kRatio = 5, kBar = 5;

const std::vector<std::string> kHeader = {"work",  "type", "D",    "L",
                                          "heads", "thr",  "share"};

std::string Heads(const BenchRow& row) {
  return row.hq == row.hkv ? std::to_string(row.hq)
                           : fmt::format("{}/{}", row.hq, row.hkv);
}

std::string Lengths(const BenchRow& row) {
  return row.lq == row.lk ? std::to_string(row.lk)
                          : fmt::format("{} x {}", row.lq, row.lk);
}

std::vector<std::string> Cells(const BenchRow& row, const std::string& share) {
  return {row.work,     Name(row.dtype), std::to_string(row.d),
          Lengths(row), Heads(row),      std::to_string(row.threads),
          share};
}

std::string Verdict(const BenchResult& result) {
  if (!result.row.bar) return "";
  const std::optional<bool> met = result.Met();
  return !met ? "?" : *met ? "met" : "missed";
}

// "≥85 %", "≤1.25"
std::string BarText(const BenchRow& row) {
  if (!row.bar) return "";
  return (row.MoreIsBetter() ? "≥" : "≤") +
         (row.versus ? fmt::format("{:.2f}", *row.bar)
                     : fmt::format("{:.0f} %", 100 * *row.bar));
}

// What stands to the right of the share.
std::string Judgement(const BenchResult& result, bool color) {
  const BenchRow& row = result.row;
  const std::string verdict = PadRight(Verdict(result), kVerdict);
  std::string line =
      (result.Met() == false ? Bold(verdict, color) : verdict) + " " +
      PadLeft(result.ratio ? fmt::format("{:.2f}", *result.ratio) : "",
              kRatio) +
      " " + PadRight(BarText(row), kBar);
  if (row.versus) {
    line +=
        fmt::format(" {}, {}", ShortName(row.versus->figure), row.VersusText());
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

// "peak of a thread: 117 GFLOP/s, reading 15.2 GB/s; "
std::string Peaks(const std::vector<BenchResult>& results) {
  double fma = 0, read = 0;
  for (const BenchResult& result : results) {
    double& largest = result.of == Peak::kFma ? fma : read;
    largest = std::max(largest, result.peak_rate / result.row.threads / 1e9);
  }
  std::string out = "peak of a thread:";
  if (fma > 0) out += fmt::format(" {:.0f} GFLOP/s", fma);
  if (read > 0) {
    out += fmt::format("{} reading {:.1f} GB/s", fma > 0 ? "," : "", read);
  }
  return out;
}

std::string BarsText(const std::vector<BenchResult>& results) {
  int met = 0, judged = 0;
  for (const BenchResult& result : results) {
    met += result.Met().value_or(false);
    judged += result.Met().has_value();
  }
  if (judged == 0) return "";
  return fmt::format(" {} of {} bars are met.", met, judged);
}

std::string MemoryText(const std::vector<BenchResult>& results) {
  std::string out;
  for (const BenchResult& result : results) {
    if (!result.memory) continue;
    out += fmt::format(" {} took {} beside {} of inputs and outputs.",
                       result.row.work, ByteSizeText(*result.memory),
                       ByteSizeText(result.array_bytes));
  }
  return out;
}

// Wall time counts what others did meanwhile, processor time doesn't. They meet
// the work and its peak alike, but not in the same turn.
std::string BusyText(const std::vector<BenchResult>& results) {
  constexpr double kBusy = 1.05;
  const bool waits =
      std::any_of(results.begin(), results.end(), [](const BenchResult& r) {
        return r.by_wall_time && (r.cpu_share > kBusy * r.wall_share ||
                                  r.wall_share > kBusy * r.cpu_share);
      });
  return waits ? " Rows of several threads go by wall time, and their threads "
                 "waited or other programs had the cores: see cpu_share in "
                 "--json."
               : "";
}

}  // namespace

std::string BenchPercent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string RatioText(const BenchResult& result) {
  const BenchRow& row = result.row;
  if (!result.ratio) return "";
  std::string text = fmt::format("{:.2f} × {} of {}", *result.ratio,
                                 Name(row.versus->figure), row.VersusText());
  if (row.bar) {
    text += fmt::format(", {} {:.2f}",
                        row.MoreIsBetter() ? "at least" : "at most", *row.bar);
  }
  return text;
}

BenchText::BenchText(const std::vector<BenchRow>& rows, const Console& console)
    : width_(console.width()), color_(console.color()) {
  for (const std::string& name : kHeader) {
    columns_.push_back(DisplayWidth(name));
  }
  for (const BenchRow& row : rows) {
    const std::vector<std::string> cells = Cells(row, "85.0 %");
    for (size_t i = 0; i < cells.size(); ++i) {
      columns_[i] = std::max(columns_[i], DisplayWidth(cells[i]));
    }
  }
}

std::string BenchText::Left(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ' ';
    line += i < kNames ? PadRight(cells[i], columns_[i])
                       : PadLeft(cells[i], columns_[i]);
  }
  return line;
}

std::string BenchText::Head() const {
  const std::string machine = fmt::format(
      "{}, {}, {}", ProcessorName(),
      Counted(static_cast<int64_t>(std::thread::hardware_concurrency()),
              "core"),
      CompilerName());
  std::string columns = Left(kHeader);
  columns += " " + PadRight("", kVerdict) + " " + PadLeft("ratio", kRatio) +
             " " + PadRight("bar", kBar) + " of";
  return Wrapped(machine, width_, 0) + "\n" + Bold(columns, color_) + "\n";
}

std::string BenchText::Row(const BenchResult& result) {
  std::string out;
  if (result.row.instruction_set != instruction_set_) {
    instruction_set_ = result.row.instruction_set;
    out += Bold(instruction_set_, color_) + "\n";
  }
  const std::string left = Left(Cells(result.row, BenchPercent(result.share)));
  const std::string right = Judgement(result, color_);
  const int needed =
      DisplayWidth(left) + 1 + DisplayWidth(Judgement(result, false));
  out += left;
  if (!right.empty()) out += (needed <= width_ ? " " : "\n    ") + right;
  return out + "\n";
}

std::string BenchText::Foot(const std::vector<BenchResult>& results) const {
  const std::string out =
      Peaks(results) +
      "; share: of that peak, measured in turns with the work; only pairs that "
      "are visible count, each byte of keys and values once." +
      BarsText(results) + MemoryText(results) + BusyText(results);
  return Wrapped(out, width_, 0) + "\n";
}

}  // namespace regard::inline v0
