// regard bench: how near the engine comes to what this machine can do.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "bench/measure.h"
#include "bench/schedule.h"
#include "bench/table.h"
#include "bench/work_list.h"
#include "cli/bench/chart.h"
#include "cli/bench/report.h"
#include "cli/bench/text.h"
#include "cli/options.h"
#include "cli/output.h"
#include "io/file.h"
#include "regard/attention.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

// Below ten minutes, whatever the machine.
constexpr double kLongest = 480;

const std::vector<std::string> kFormats = {"json", "csv", "svg", "png"};

struct Options {
  bool all = false, quick = false;
  std::vector<std::string> works;
  std::optional<std::string> dtype, instruction_set;
  std::optional<int64_t> d, length, runs;
  OutputOptions output;
};

std::string UnknownHint(const std::string& word,
                        const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? "use one of " + Join(known)
                         : "did you mean " + nearest + "?";
}

void CheckWorks(const std::vector<std::string>& works) {
  const std::vector<std::string> known = WorkNames();
  for (const std::string& work : works) {
    if (std::find(known.begin(), known.end(), work) != known.end()) continue;
    throw Error(ErrorKind::kUsage, "--work", "unknown work '" + work + "'",
                UnknownHint(work, known));
  }
}

void CheckInstructionSet(const std::string& name) {
  const std::vector<std::string> usable = UsableInstructionSets();
  if (std::find(usable.begin(), usable.end(), name) != usable.end()) return;
  const std::vector<std::string> built = BuiltInstructionSets();
  const bool known = std::find(built.begin(), built.end(), name) != built.end();
  throw Error(
      ErrorKind::kUsage, "--isa",
      "'" + name + "' is " + (known ? "not usable here" : "no instruction set"),
      known ? "use one of " + Join(usable) : UnknownHint(name, usable));
}

constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kF16,
                            DType::kF64};

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  for (const DType type : kTypes) names.emplace_back(Name(type));
  return names;
}

std::optional<DType> TypeNamed(const std::optional<std::string>& name) {
  for (const DType type : kTypes) {
    if (name == Name(type)) return type;
  }
  return std::nullopt;
}

std::vector<BenchRow> RowsOf(const Options& options,
                             const CommonOptions& common) {
  CheckWorks(options.works);
  if (options.instruction_set) CheckInstructionSet(*options.instruction_set);
  TableChoice choice;
  choice.all = options.all;
  choice.works = options.works;
  choice.dtype = TypeNamed(options.dtype);
  choice.d = options.d;
  choice.length = options.length;
  choice.instruction_set = options.instruction_set.value_or("");
  choice.threads = common.threads;
  choice.quick = options.quick;
  std::vector<BenchRow> rows = ChooseRows(choice);
  if (rows.empty()) {
    throw Error(ErrorKind::kUsage, "bench", "no row is like that",
                "leave out --work, --dtype, --head-size or --length");
  }
  return rows;
}

std::vector<ScheduledRow> ScheduleOf(const std::vector<BenchRow>& rows,
                                     const Options& options) {
  std::vector<ScheduledRow> schedule =
      Schedule(rows, QuickPeak(rows.front()), kLongest);
  for (ScheduledRow& scheduled : schedule) {
    if (options.quick) scheduled.runs = 1;
    if (options.runs) scheduled.runs = *options.runs;
  }
  return schedule;
}

int64_t Milliseconds(const ScheduledRow& scheduled) {
  return 1 + static_cast<int64_t>(1e3 * scheduled.run_seconds);
}

BenchResult MeasureRow(const ScheduledRow& scheduled, bool quick,
                       Progress& progress) {
  MeasureSettings settings;
  if (quick) settings.least_seconds = 0;
  RowMeasurement measurement(scheduled.row, settings);
  for (int64_t run = 0; run < scheduled.runs; ++run) {
    measurement.Run();
    progress.Add(Milliseconds(scheduled));
  }
  return measurement.Result();
}

// Prints each row as it comes, when `table` is given.
std::vector<BenchResult> MeasureAll(const std::vector<ScheduledRow>& schedule,
                                    bool quick, BenchText* table,
                                    Console& console) {
  int64_t total = 0;
  for (const ScheduledRow& scheduled : schedule) {
    total += scheduled.runs * Milliseconds(scheduled);
  }
  Progress progress(console, "measuring", total);
  std::vector<BenchResult> results;
  if (table != nullptr) {
    console.Print(table->Head());
    console.Flush();
  }
  for (const ScheduledRow& scheduled : schedule) {
    results.push_back(MeasureRow(scheduled, quick, progress));
    if (table == nullptr) continue;
    progress.Clear();
    console.Print(table->Row(results.back()));
    console.Flush();
  }
  if (table != nullptr) console.Print(table->Foot(results));
  return results;
}

std::string FileText(const std::string& format,
                     const std::vector<BenchResult>& results) {
  if (format == "json") return BenchJson(results).Dump() + "\n";
  if (format == "csv") return BenchCsv(results);
  return BenchPicture(format, results);
}

void Run(const Options& options, Context& context) {
  const OutputOptions& output = options.output;
  const std::string format = output.path ? OutputFormat(output, kFormats) : "";
  const std::vector<BenchRow> rows = RowsOf(options, context.common);
  if (output.path) RequireWritable(*output.path);
  Console& console = context.console;
  BenchText table(rows, console);
  const bool prints = !context.common.json && output.path.value_or("") != "-";
  const std::vector<BenchResult> results =
      MeasureAll(ScheduleOf(rows, options), options.quick,
                 prints ? &table : nullptr, console);
  if (output.path) {
    WriteFile(*output.path, FileText(format, results));
    ReportWritten(context, *output.path, format);
  } else if (context.common.json) {
    console.PrintJson(BenchJson(results));
  }
}

std::function<void(Context&)> Setup(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddFlag(app, "--all", options->all,
          "the whole table (default: the rows that have a bar)");
  AddTexts(app, "--work", "NAME", options->works,
           "only this work (repeat for several): " + Join(WorkNames()));
  AddChoice(app, "--dtype", options->dtype, TypeNames(), "only this type");
  AddText(app, "--isa", "NAME", options->instruction_set,
          "this instruction set (default: the widest)");
  AddInteger(app, "--head-size", "D", options->d, "only this head size", 1);
  AddInteger(app, "--length", "L", options->length, "only this key length", 1);
  AddInteger(app, "--runs", "N", options->runs,
             "runs of each row (default: by the time they take)", 1);
  AddFlag(app, "--quick", options->quick,
          "one run at lengths 128 times smaller: shows the form, measures "
          "little");
  AddOutputOptions(app, options->output, kFormats);
  return [options](Context& context) { Run(*options, context); };
}

}  // namespace

extern const Command kBenchCommand;
const Command kBenchCommand = {
    "bench", "how near the engine comes to what this machine can do",
    "regard bench --work forward --length 2048", Setup};

}  // namespace regard::inline v0
