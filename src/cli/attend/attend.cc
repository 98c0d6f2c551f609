// regard attend: the engine on arrays from files.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "cli/attend/problem.h"
#include "cli/attend/report.h"
#include "cli/options.h"
#include "cli/output.h"
#include "regard/attention.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

const std::vector<std::string> kFormats = {"npz", "npy", "safetensors"};

struct Options {
  AttendInputs inputs;
  bool lse = false, weights = false, plan = false;
  std::optional<std::string> kernel;
  OutputOptions output;
};

// The library's functions name themselves; here it is the command that failed.
[[noreturn]] void RethrowAsOurs(const Error& error) {
  const std::string& subject = error.subject();
  throw Error(
      error.kind(),
      "attend" + subject.substr(std::min(subject.find(':'), subject.size())),
      error.reason(), error.hint());
}

std::string ChosenFormat(const Options& options) {
  if (!options.output.path) return "";
  const std::string format = OutputFormat(options.output, kFormats);
  if (format == "npy" && (options.lse || options.weights)) {
    throw Error(ErrorKind::kUsage, *options.output.path,
                "an npy file holds one array, and --lse or --weights add more",
                "write an .npz or .safetensors");
  }
  return format;
}

// Of lse and weights.
DType ArithmeticType(const AttentionProblem& problem) {
  return problem.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

// Bytes of everything that was asked for.
int64_t ResultBytes(const AttentionProblem& problem, const Options& options) {
  const auto size = [&](int64_t last, DType dtype) {
    Dims shape = problem.q.shape;
    shape[3] = last;
    return CheckedMul(NumElements(shape), static_cast<int64_t>(ItemSize(dtype)),
                      "attend: size");
  };
  const DType arithmetic = ArithmeticType(problem);
  int64_t bytes = size(problem.v.shape[3], problem.q.dtype);
  if (options.lse) {
    bytes = CheckedAdd(bytes, size(1, arithmetic), "attend: size");
  }
  if (options.weights) {
    bytes =
        CheckedAdd(bytes, size(problem.k.shape[2], arithmetic), "attend: size");
  }
  return bytes;
}

AttentionResult Compute(AttentionPlan& plan, const AttentionProblem& problem,
                        const Options& options) {
  const DType arithmetic = ArithmeticType(problem);
  Dims shape = problem.q.shape;
  AttentionResult result;
  AttentionOutputs outputs;
  shape[3] = problem.v.shape[3];
  result.out = Tensor(problem.q.dtype, shape);
  outputs.out = result.out.mutable_view();
  result.lse = Tensor(arithmetic, {shape[0], shape[1], shape[2]});
  outputs.lse = result.lse.mutable_view();
  if (options.weights) {
    shape[3] = problem.k.shape[2];
    result.weights = Tensor(arithmetic, shape);
    outputs.weights = result.weights.mutable_view();
  }
  plan.Run(problem, outputs);
  return result;
}

void Write(const AttendProblem& attend, AttentionResult& result,
           const Options& options, const std::string& format,
           Console& console) {
  if (format != "safetensors" && result.out.dtype() == DType::kBF16) {
    console.Note("out was converted from bf16, which " + format +
                 " doesn't know, to f32");
    result.out = Converted(result.out, DType::kF32);
  }
  const auto given = [&](const Tensor& tensor) {
    return tensor.view().Reshaped(attend.Given(tensor.shape()));
  };
  NamedViews arrays = {{"out", given(result.out)}};
  if (options.lse) arrays.emplace_back("lse", given(result.lse));
  if (options.weights) arrays.emplace_back("weights", given(result.weights));
  const std::string& path = *options.output.path;
  if (format == "npy") {
    WriteNpy(path, arrays[0].second);
  } else if (format == "safetensors") {
    WriteSafeTensors(path, arrays);
  } else {
    NpzWriter writer(path);
    for (const auto& [name, view] : arrays) writer.Add(name, view);
    writer.Commit();
  }
}

// The log-sum-exp costs next to nothing, and the summary counts empty rows by
// it.
AttentionOptions EngineOptions(const Options& options,
                               const CommonOptions& common) {
  AttentionOptions engine;
  engine.lse = true;
  engine.weights = options.weights;
  engine.threads = common.threads;
  engine.kernel = options.kernel.value_or("");
  return engine;
}

void Run(const Options& options, Context& context) {
  const std::string format = ChosenFormat(options);
  const AttendProblem attend(options.inputs, context.console);
  const AttentionProblem& problem = attend.problem();
  try {
    AttentionPlan plan(problem, EngineOptions(options, context.common));
    if (options.plan) {
      PrintPlan(plan, plan.CountTiles(problem), context);
      return;
    }
    // Weights are the one result that outgrows the inputs.
    if (options.output.path || options.weights) {
      RequireSize(
          options.output, ResultBytes(problem, options),
          options.weights ? "leave --weights out" : "give fewer queries");
    }
    if (options.output.path) RequireWritable(*options.output.path);
    AttentionResult result = Compute(plan, problem, options);
    if (format.empty()) {
      PrintSummary(attend, plan, result, context);
      return;
    }
    Write(attend, result, options, format, context.console);
    ReportWritten(context, *options.output.path, format);
  } catch (const Error& error) {
    if (error.subject().starts_with("AttentionPlan")) RethrowAsOurs(error);
    throw;
  }
}

std::function<void(Context&)> Setup(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddAttendInputs(app, options->inputs);
  AddFlag(app, "--lse", options->lse,
          "add the log-sum-exp of each row to the result");
  AddFlag(app, "--weights", options->weights,
          "add the attention weights to the result");
  AddChoice(app, "--kernel", options->kernel, KernelNames(),
            "the way to compute it (default: the first that fits)");
  AddFlag(app, "--plan", options->plan,
          "print how it would be computed, and stop");
  AddOutputOptions(app, options->output, kFormats);
  return [options](Context& context) { Run(*options, context); };
}

}  // namespace

extern const Command kAttendCommand;
const Command kAttendCommand = {
    "attend", "attention on arrays from files",
    "regard attend --q q.npy --k k.npy --v v.npy --causal top-left -o out.npz",
    Setup};

}  // namespace regard::inline v0
