#include "cli/attend/problem.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "attention/mask/mask_set.h"
#include "base/strings.h"
#include "cli/options.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

constexpr char kArrayHelp[] =
    "x.npy, x.npz:member or x.safetensors:name (- is an .npy file on standard "
    "input); rank 2, 3 or 4 as [L, D], [H, L, D], [B, H, L, D]";

constexpr char kStandardInput[] = "-";

[[noreturn]] void ThrowUsage(const std::string& option,
                             const std::string& reason,
                             const std::string& hint) {
  throw Error(ErrorKind::kUsage, option, reason, hint);
}

bool IsFloating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF32 || dtype == DType::kF64;
}

Tensor ReadFloats(const std::string& option,
                  const std::optional<std::string>& spec) {
  if (!spec) {
    ThrowUsage(option, "is missing", "name the array, as " + option + " x.npy");
  }
  Tensor array = ReadArray(*spec);
  if (!IsFloating(array.dtype())) {
    throw Error(ErrorKind::kUnsupported, *spec,
                std::string(option) + " has the type " + Name(array.dtype()),
                "save it as f64, f32, bf16 or f16");
  }
  return array;
}

void ConvertTo(DType dtype, const std::string& name, Tensor& array,
               Console& console) {
  if (array.dtype() == dtype) return;
  console.Note(name + " was converted from " + Name(array.dtype()) + " to " +
               Name(dtype));
  array = Converted(array, dtype);
}

// [L, D] and [H, L, D] get the axes that are missing.
TensorView AsRank4(TensorView view) {
  while (view.rank() < 4) view = view.Unsqueezed(0);
  return view;
}

// "none" is no limit.
std::optional<int64_t> WindowSide(std::string_view text,
                                  const std::string& window, int64_t least) {
  if (text == "none") return std::nullopt;
  const std::optional<int64_t> side = ParseInteger(text);
  if (side && *side >= least) return side;
  ThrowUsage("--window", "'" + window + "' can't be read",
             "write LEFT,RIGHT: LEFT is at least 1 and counts the query "
             "itself, RIGHT is at least 0, none is no limit");
}

Mask ReadWindow(const std::string& window) {
  const size_t comma = window.find(',');
  const bool two = comma != window.npos;
  const std::string_view text = window;
  // Without a comma RIGHT is empty, which is refused.
  return Mask::Window(WindowSide(text.substr(0, comma), window, 1),
                      WindowSide(two ? text.substr(comma + 1) : "", window, 0));
}

std::optional<QueryOffset> ReadOffset(const AttendInputs& inputs) {
  const std::string causal = inputs.causal.value_or("");
  if (causal == "offset" && !inputs.offset) {
    ThrowUsage("--causal offset", "the offset is missing",
               "add --offset N, the position of query 0 among the keys");
  }
  if (inputs.offset && !causal.empty() && causal != "offset") {
    ThrowUsage("--offset", "contradicts --causal " + causal,
               "use --causal offset, or leave --offset out");
  }
  if (inputs.offset && causal.empty() && !inputs.window) {
    ThrowUsage("--offset", "nothing uses it",
               "add --causal offset or --window LEFT,RIGHT");
  }
  if (inputs.offset) return QueryOffset::At(*inputs.offset);
  if (causal == "top-left") return QueryOffset::TopLeft();
  if (causal == "bottom-right") return QueryOffset::BottomRight();
  return std::nullopt;
}

// Standard input holds one array.
void CheckStandardInput(const AttendInputs& inputs) {
  const auto uses = [](const std::optional<std::string>& spec) {
    return spec && *spec == kStandardInput;
  };
  const auto all = {inputs.q, inputs.k, inputs.v, inputs.mask, inputs.bias};
  if (std::count_if(all.begin(), all.end(), uses) > 1) {
    ThrowUsage(kStandardInput, "standard input can only be one of the arrays",
               "save the others to files");
  }
}

Tensor ReadMask(const std::string& spec) {
  Tensor mask = ReadArray(spec);
  if (mask.dtype() == DType::kBool || mask.dtype() == DType::kU8) return mask;
  throw Error(ErrorKind::kUnsupported, spec,
              std::string("--mask has the type ") + Name(mask.dtype()),
              IsFloating(mask.dtype())
                  ? "numbers to add to the scores go into --bias; a mask is "
                    "bool, true where a query may look"
                  : "save it as bool, true where a query may look");
}

}  // namespace

void AddAttendInputs(CLI::App& app, AttendInputs& inputs) {
  AddText(app, "--q", "F", inputs.q, std::string("queries: ") + kArrayHelp);
  AddText(app, "--k", "F", inputs.k, "keys");
  AddText(app, "--v", "F", inputs.v, "values");
  AddChoice(app, "--causal", inputs.causal,
            {"top-left", "bottom-right", "offset"},
            "hide later keys; where query 0 stands among the keys: at the "
            "first, so that the last stands at the last, or at --offset");
  AddInteger(app, "--offset", "N", inputs.offset,
             "position of query 0 among the keys", -kMaxOffset, kMaxOffset);
  AddText(app, "--window", "LEFT,RIGHT", inputs.window,
          "keys this far back (the query itself counts) and ahead; none is no "
          "limit");
  AddText(app, "--mask", "F", inputs.mask,
          "bool array, true where a query may look, broadcast to [B, Hq, Lq, "
          "Lk]");
  AddText(app, "--bias", "F", inputs.bias,
          "numbers added to the scores, broadcast alike");
  AddReal(app, "--scale", "S", inputs.scale,
          "factor of the scores (default: 1/sqrt(D))");
  AddReal(app, "--softcap", "C", inputs.softcap,
          "scores become C tanh(score / C)");
}

AttendProblem::AttendProblem(const AttendInputs& inputs, Console& console) {
  // What the command line says is looked at before any file.
  problem_.query_offset = ReadOffset(inputs);
  if (inputs.softcap && *inputs.softcap <= 0) {
    ThrowUsage("--softcap", "is not above 0", "leave it out for none");
  }
  problem_.scale = inputs.scale;
  problem_.softcap = inputs.softcap;
  AddMasks(inputs);
  CheckStandardInput(inputs);
  ReadArrays(inputs, console);
  const int64_t queries = problem_.q.shape[2], keys = problem_.k.shape[2];
  if (inputs.window && !problem_.query_offset && queries != keys) {
    ThrowUsage("--window",
               "there are " + std::to_string(queries) + " queries and " +
                   std::to_string(keys) + " keys",
               "add --offset N, the position of query 0 among the keys, or "
               "--causal");
  }
}

void AttendProblem::AddMasks(const AttendInputs& inputs) {
  std::vector<std::string> parts;
  if (inputs.causal) {
    problem_.mask = problem_.mask & Mask::Causal();
    parts.push_back("causal " + *inputs.causal);
  }
  if (inputs.window) {
    problem_.mask = problem_.mask & ReadWindow(*inputs.window);
    parts.push_back("window " + *inputs.window);
  }
  if (inputs.offset)
    parts.push_back("offset " + std::to_string(*inputs.offset));
  if (inputs.mask) parts.emplace_back("mask");
  mask_text_ = parts.empty() ? "full" : Join(parts);
}

void AttendProblem::ReadArrays(const AttendInputs& inputs, Console& console) {
  q_ = ReadFloats("--q", inputs.q);
  k_ = ReadFloats("--k", inputs.k);
  v_ = ReadFloats("--v", inputs.v);
  rank_ = q_.shape().size();
  if (rank_ < 2 || rank_ > 4 || k_.shape().size() != rank_ ||
      v_.shape().size() != rank_) {
    throw Error(ErrorKind::kArgument, "attend",
                "q, k and v have the shapes " + ToString(q_.shape()) + ", " +
                    ToString(k_.shape()) + ", " + ToString(v_.shape()),
                "give all three as [L, D], [H, L, D] or [B, H, L, D]");
  }
  // The engine refuses f64 beside a narrower q, whose type out has.
  if (k_.dtype() == DType::kF64 || v_.dtype() == DType::kF64) {
    ConvertTo(DType::kF64, "q", q_, console);
  }
  problem_.q = AsRank4(q_);
  problem_.k = AsRank4(k_);
  problem_.v = AsRank4(v_);
  if (inputs.bias) {
    bias_ = ReadFloats("--bias", inputs.bias);
    problem_.bias = bias_;
  }
  if (inputs.mask) {
    mask_ = ReadMask(*inputs.mask);
    problem_.mask = problem_.mask & Mask::Boolean(mask_);
  }
}

Dims AttendProblem::Given(const Dims& shape) const {
  Dims given;
  for (int i = 4 - rank_; i < shape.size(); ++i) given.push_back(shape[i]);
  return given;
}

}  // namespace regard::inline v0
