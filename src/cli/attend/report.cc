#include "cli/attend/report.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "cli/text_layout.h"
#include "io/json.h"

namespace regard::inline v0 {

namespace {

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  int64_t finite = 0, nonfinite = 0;
  int64_t empty_rows = 0;  // -infinity, which is what their LSE is

  double mean() const { return sum / static_cast<double>(finite); }
};

template <typename T>
void Measure(const Tensor& tensor, Range& range) {
  const T* values = tensor.As<T>();
  const int64_t count = tensor.NumElements();
  for (int64_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      ++range.nonfinite;
      range.empty_rows += std::isinf(value) && value < 0;
      continue;
    }
    ++range.finite;
    range.sum += value;
    range.least = std::min(range.least, value);
    range.greatest = std::max(range.greatest, value);
  }
}

Range RangeOf(const Tensor& tensor) {
  Range range;
  if (tensor.dtype() == DType::kF64) {
    Measure<double>(tensor, range);
  } else if (tensor.dtype() == DType::kF32) {
    Measure<float>(tensor, range);
  } else {
    Measure<float>(Converted(tensor, DType::kF32), range);
  }
  return range;
}

std::string Line(const char* name, const Dims& shape, DType dtype,
                 const std::string& rest) {
  std::string line = fmt::format("{:<8} {:<20} {}{}", name, ToString(shape),
                                 Name(dtype), rest);
  return line + "\n";
}

std::string InputLine(const AttendProblem& attend, const char* name,
                      const TensorView& view) {
  return Line(name, attend.Given(view.shape), view.dtype, "");
}

std::string ResultLine(const AttendProblem& attend, const char* name,
                       const Tensor& tensor) {
  const Range range = RangeOf(tensor);
  std::string rest;
  if (range.finite > 0) {
    rest += fmt::format("   {:.6g} to {:.6g}, mean {:.6g}", range.least,
                        range.greatest, range.mean());
  }
  if (range.nonfinite > 0) {
    rest += fmt::format("   {} not finite", WithCommas(range.nonfinite));
  }
  return Line(name, attend.Given(tensor.shape()), tensor.dtype(), rest);
}

std::string SummaryText(const AttendProblem& attend, const AttentionPlan& plan,
                        const AttentionResult& result) {
  const AttentionProblem& problem = attend.problem();
  std::string out = InputLine(attend, "q", problem.q) +
                    InputLine(attend, "k", problem.k) +
                    InputLine(attend, "v", problem.v);
  if (problem.bias.given()) {
    out += Line("bias", problem.bias.shape, problem.bias.dtype, "");
  }
  out += fmt::format("{:<8} {}\n", "mask", attend.mask_text());
  out += ResultLine(attend, "out", result.out);
  out += ResultLine(attend, "lse", result.lse);
  if (result.weights.given()) {
    out += ResultLine(attend, "weights", result.weights);
  }
  const int64_t empty = RangeOf(result.lse).empty_rows;
  if (empty > 0) {
    out += fmt::format("{:<8} {} of {}: no visible key, out is 0\n", "empty",
                       WithCommas(empty), WithCommas(result.lse.NumElements()));
  }
  out += fmt::format("{:<8} {}, {}\n", "kernel", plan.kernel(),
                     plan.instruction_set());
  return out;
}

Json ShapeJson(const Dims& shape) {
  Json::Array sizes;
  for (const int64_t size : shape) sizes.push_back(size);
  return sizes;
}

Json ArrayJson(const AttendProblem& attend, const TensorView& view) {
  Json array;
  array.Set("shape", ShapeJson(attend.Given(view.shape)));
  array.Set("dtype", Name(view.dtype));
  return array;
}

Json ResultJson(const AttendProblem& attend, const Tensor& tensor) {
  const Range range = RangeOf(tensor);
  const bool any = range.finite > 0;
  Json array = ArrayJson(attend, tensor);
  array.Set("min", any ? Json(range.least) : Json());
  array.Set("max", any ? Json(range.greatest) : Json());
  array.Set("mean", any ? Json(range.mean()) : Json());
  array.Set("nonfinite", range.nonfinite);
  return array;
}

Json SummaryJson(const AttendProblem& attend, const AttentionPlan& plan,
                 const AttentionResult& result) {
  const AttentionProblem& problem = attend.problem();
  Json out;
  out.Set("q", ArrayJson(attend, problem.q));
  out.Set("k", ArrayJson(attend, problem.k));
  out.Set("v", ArrayJson(attend, problem.v));
  out.Set("mask", attend.mask_text());
  out.Set("out", ResultJson(attend, result.out));
  out.Set("lse", ResultJson(attend, result.lse));
  if (result.weights.given()) {
    out.Set("weights", ResultJson(attend, result.weights));
  }
  out.Set("empty_rows", RangeOf(result.lse).empty_rows);
  out.Set("kernel", plan.kernel());
  out.Set("instruction_set", plan.instruction_set());
  return out;
}

}  // namespace

void PrintSummary(const AttendProblem& attend, const AttentionPlan& plan,
                  const AttentionResult& result, Context& context) {
  if (context.common.json) {
    context.console.PrintJson(SummaryJson(attend, plan, result));
  } else {
    context.console.Print(SummaryText(attend, plan, result));
  }
}

void PrintPlan(const AttentionPlan& plan, const TileCounts& tiles,
               Context& context) {
  if (!context.common.json) {
    context.console.Print(
        plan.Describe() +
        fmt::format("tiles of the mask: {} empty, {} full, {} mixed\n",
                    WithCommas(tiles.empty), WithCommas(tiles.full),
                    WithCommas(tiles.mixed)));
    return;
  }
  Json out;
  out.Set("kernel", plan.kernel());
  out.Set("instruction_set", plan.instruction_set());
  out.Set("scratch_bytes", static_cast<int64_t>(plan.scratch_bytes()));
  out.Set("tiles", Json::Object{{"empty", tiles.empty},
                                {"full", tiles.full},
                                {"mixed", tiles.mixed}});
  out.Set("plan", plan.Describe());
  context.console.PrintJson(out);
}

}  // namespace regard::inline v0
