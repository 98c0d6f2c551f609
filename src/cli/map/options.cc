#include "cli/map/options.h"

#include <CLI/App.hpp>
#include <algorithm>

#include "base/strings.h"
#include "cli/map/later.h"
#include "cli/model/find_model.h"
#include "cli/model/model_hash.h"
#include "regard/error.h"
#include "regard/version.h"

namespace regard::inline v0 {

namespace {

const std::vector<std::string>& Formats() {
  static const std::vector<std::string> formats = {"npz", "csv", "json", "svg",
                                                   "png"};
  return formats;
}

// A matrix of numbers in JSON beyond this is a mistake: npz reads back faster.
constexpr int64_t kMostJsonCells = 2'000'000;
// A weight with its separator, as most are: "0.0123456789,".
constexpr int64_t kWeightBytes = 13;

void Contradiction(bool wrong, const std::string& what, const std::string& why,
                   const std::string& hint) {
  if (wrong) throw Error(ErrorKind::kUsage, what, why, hint);
}

MapFormat FormatOf(const MapOptions& options, bool json) {
  const bool to_stdout = options.output.path.value_or("-") == "-";
  if (to_stdout && !options.output.format) {
    return json ? MapFormat::kJson : MapFormat::kTerminal;
  }
  const std::string name = OutputFormat(options.output, Formats());
  for (const MapFormat format :
       {MapFormat::kNpz, MapFormat::kCsv, MapFormat::kJson, MapFormat::kSvg}) {
    if (Name(format) == name) return format;
  }
  return MapFormat::kPng;
}

std::vector<int64_t> TokensToShow(const MapOptions& options,
                                  const Encoding& encoding) {
  std::vector<int64_t> tokens;
  const int64_t n = static_cast<int64_t>(encoding.tokens.size());
  for (int64_t i = options.hide_first.value_or(0); i < n; ++i) {
    if (options.hide_special && encoding.tokens[i].special) continue;
    tokens.push_back(i);
  }
  Contradiction(tokens.empty(), "--hide-first",
                "hides all " + std::to_string(n) + " tokens of the text",
                "give a smaller number");
  return tokens;
}

std::optional<TokenSpan> SpanToMark(const std::optional<std::string>& name,
                                    const MapRequest& request,
                                    const std::string& option) {
  if (!name) return std::nullopt;
  const TokenSpan span = FindSpan(request.encoding, *name);
  for (int64_t i = span.first; i <= span.last; ++i) {
    Contradiction(
        !std::binary_search(request.tokens.begin(), request.tokens.end(), i),
        option + " " + *name, "that token is hidden",
        "leave --hide-special and --hide-first out");
  }
  return span;
}

// Of one row of csv, on average: "3,11,8,street,12,tired,0.0123456789".
int64_t CsvRowBytes(const MapRequest& request) {
  constexpr int64_t kHeadBytes = 5;
  int64_t bytes = 0;
  for (const int64_t i : request.tokens) {
    bytes += static_cast<int64_t>(std::to_string(i).size() +
                                  request.encoding.tokens[i].piece.size() + 2);
  }
  const int64_t n = static_cast<int64_t>(request.tokens.size());
  return kHeadBytes + 2 * bytes / n + kWeightBytes;
}

// Before the work: numbers of cells are known as soon as the tokens are.
void RequireMapSize(const MapRequest& request) {
  const int64_t n = static_cast<int64_t>(request.tokens.size());
  const int64_t maps =
      static_cast<int64_t>(GroupHeads(request.format == MapFormat::kCsv
                                          ? request.chosen
                                          : RectangleAround(request.chosen),
                                      request.averaging)
                               .size());
  const int64_t cells = maps * n * n;
  const char* fewer = "choose heads with --head, or --average all";
  const OutputOptions& output = request.options->output;
  switch (request.format) {
    case MapFormat::kNpz:
      return RequireSize(output, cells * int64_t{sizeof(float)}, fewer);
    case MapFormat::kCsv:
      return RequireSize(output, cells * CsvRowBytes(request), fewer);
    case MapFormat::kJson:
      if (cells > kMostJsonCells) {
        throw Error(ErrorKind::kSize, "json",
                    std::to_string(cells) + " cells, and at most " +
                        std::to_string(kMostJsonCells) + " are written",
                    std::string(fewer) + ", or write an npz");
      }
      return RequireSize(output, cells * kWeightBytes, fewer);
    default:
      return;  // pictures: the renderer bounds them by their layout
  }
}

Json OptionsMeta(const MapRequest& request) {
  const MapOptions& o = *request.options;
  Json meta;
  meta.Set("text", request.encoding.texts[0]);
  if (o.text.pair) meta.Set("pair", request.encoding.texts[1]);
  if (o.text.truncate) meta.Set("truncate", true);
  if (o.heads.given()) {
    Json names;
    for (const HeadId head : request.chosen) names.Append(ToString(head));
    meta.Set("heads", std::move(names));
  }
  if (request.averaging != Averaging::kNone) {
    meta.Set("average",
             request.averaging == Averaging::kHeads ? "heads" : "all");
  }
  if (o.hide_special) meta.Set("hide_special", true);
  if (o.hide_first) meta.Set("hide_first", *o.hide_first);
  if (o.renormalize) meta.Set("renormalize", true);
  return meta;
}

}  // namespace

std::string Name(MapFormat format) {
  switch (format) {
    case MapFormat::kTerminal:
      return "terminal";
    case MapFormat::kNpz:
      return "npz";
    case MapFormat::kCsv:
      return "csv";
    case MapFormat::kJson:
      return "json";
    case MapFormat::kSvg:
      return "svg";
    case MapFormat::kPng:
      return "png";
  }
  return "";
}

void AddMapOptions(CLI::App& app, MapOptions& o) {
  AddTextOptions(app, o.text);
  AddHeadOptions(app, o.heads);
  AddFlag(app, "--all", o.all, "every layer and head");
  AddChoice(app, "--average", o.average, {"heads", "all"},
            "the mean over the heads of each layer, or over all chosen heads");
  AddText(app, "--from", "A", o.from, "mark the row of this token or span");
  AddText(app, "--to", "B", o.to, "mark the column of this token or span");
  AddFlag(app, "--hide-special", o.hide_special,
          "leave out the tokens that the template adds ([CLS], [SEP])");
  AddInteger(app, "--hide-first", "K", o.hide_first,
             "leave out the first K tokens", 0);
  AddFlag(app, "--renormalize", o.renormalize,
          "after hiding, let rows sum to 1 again");
  AddText(app, "--title", "TEXT", o.title, "title of the picture");
  AddChoice(app, "--cmap", o.cmap, {"blues", "viridis", "cividis"},
            "colours (default: blues)");
  AddReal(app, "--vmin", "X", o.vmin, "lower end of the colour range");
  AddReal(app, "--vmax", "X", o.vmax, "upper end of the colour range");
  AddChoice(app, "--color-scale", o.color_scale, {"linear", "sqrt", "log"},
            "from weight to colour (default: linear, sqrt for many maps)");
  AddFlag(app, "--numbers", o.numbers, "write the weights into the cells");
  AddReal(app, "--dpi", "N", o.dpi, "dots per inch of a png (default: 300)");
  AddChoice(app, "--view", o.view, {"heat", "arcs"}, "kind of picture");
  std::vector<std::string> formats = Formats();
  const std::vector<std::string>& later_formats = LaterMapFormats();
  formats.insert(formats.end(), later_formats.begin(), later_formats.end());
  AddOutputOptions(app, o.output, formats);
  AddModelOption(app, o.model);
  AddFlag(app, "--words", o.words, "");
  AddText(app, "--theme", "light|dark", o.theme, "");
  AddText(app, "--save", "WHAT", o.save, "");
  // What does not exist yet is not in the help.
  for (const char* later : {"--words", "--theme", "--save"}) {
    app.get_option(later)->group("");
  }
  app.get_option("--view")->type_name("heat");
  app.get_option("--format")->type_name(Join(Formats(), "|"));
}

void CheckMapOptions(const MapOptions& o, bool json) {
  RefuseLaterMapOptions(o);
  Contradiction(o.all && (o.heads.given() || o.average), "--all",
                "does not go with --head, --layer or --average",
                "leave one of them out");
  Contradiction(o.renormalize && !o.hide_special && !o.hide_first,
                "--renormalize", "nothing is hidden",
                "add --hide-special or --hide-first K");
  Contradiction(o.vmin.value_or(0) >= o.vmax.value_or(1) && o.vmax, "--vmax",
                "is not above the lower end of the colour range",
                "give --vmin below --vmax");
  Contradiction(o.vmin.value_or(0) >= 1 && !o.vmax, "--vmin",
                "is not below the upper end of the colour range, 1",
                "give --vmax too");
  constexpr double kLeastDpi = 10, kMostDpi = 2400;
  Contradiction(o.dpi && !(*o.dpi >= kLeastDpi && *o.dpi <= kMostDpi), "--dpi",
                "has to be from 10 to 2400", "screens have about 100");
  FormatOf(o, json);
}

MapRequest ResolveMapOptions(const MapOptions& options,
                             const LoadedModel& loaded, Context& context) {
  MapRequest r;
  r.options = &options;
  r.format = FormatOf(options, context.common.json);
  r.path = options.output.path.value_or("-");
  const ModelInfo& info = loaded.model->info();
  r.chosen = SelectHeads(options.heads, info.layers, info.heads);
  r.encoding = EncodeFor(loaded, options.text, context.console);
  r.labels = TokenLabels(r.encoding);
  r.tokens = TokensToShow(options, r.encoding);
  r.from = SpanToMark(options.from, r, "--from");
  r.to = SpanToMark(options.to, r, "--to");
  r.is_default = !options.all && !options.average && !options.heads.given();
  const bool picture = r.format == MapFormat::kTerminal ||
                       r.format == MapFormat::kSvg ||
                       r.format == MapFormat::kPng;
  if (options.average == "heads") r.averaging = Averaging::kHeads;
  if (options.average == "all" || (r.is_default && picture)) {
    r.averaging = Averaging::kAll;
  }
  RequireMapSize(r);
  return r;
}

Json MapMeta(const MapRequest& request, const LoadedModel& loaded) {
  Json meta;
  meta.Set("model", loaded.name);
  meta.Set("sha256", WeightsSha256(loaded.model->info().weights_path));
  meta.Set("tokenizer", loaded.tokenizer.Describe());
  meta.Set("dtype", "f32");
  meta.Set("mask", "full");
  meta.Set("program", "regard " REGARD_VERSION);
  meta.Set("options", OptionsMeta(request));
  return meta;
}

}  // namespace regard::inline v0
