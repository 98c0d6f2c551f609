// What `regard map` was asked for, as typed and as resolved.
#ifndef REGARD_SRC_CLI_MAP_OPTIONS_H_
#define REGARD_SRC_CLI_MAP_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/map/data.h"
#include "cli/output.h"
#include "cli/select_heads.h"
#include "cli/text_run.h"
#include "io/json.h"
#include "regard/render.h"

namespace regard::inline v0 {

struct MapOptions {
  TextOptions text;
  std::optional<std::string> model;
  HeadOptions heads;
  bool all = false;
  std::optional<std::string> average;  // "heads", "all"
  bool hide_special = false, renormalize = false;
  std::optional<int64_t> hide_first;
  std::optional<std::string> from, to;  // names of tokens to mark
  std::optional<std::string> cmap, color_scale, title;
  std::optional<double> vmin, vmax, dpi;
  bool numbers = false;
  OutputOptions output;

  // Named in the documentation, refused until they exist (map_later.cc).
  std::optional<std::string> view, theme, save;
  bool words = false;
};

// Where the maps go.
enum class MapFormat { kTerminal, kNpz, kCsv, kJson, kSvg, kPng };
std::string Name(MapFormat format);

// The options with everything looked up that does not need the model's weights.
struct MapRequest {
  const MapOptions* options = nullptr;
  MapFormat format = MapFormat::kTerminal;
  std::string path;  // "-": stdout
  Encoding encoding;
  std::vector<std::string> labels;  // one per token
  std::vector<HeadId> chosen;
  Averaging averaging = Averaging::kNone;
  std::vector<int64_t> tokens;  // that are not hidden
  std::optional<TokenSpan> from, to;

  bool hides() const { return tokens.size() < encoding.tokens.size(); }
  // No head, average or --all was asked for.
  bool is_default = false;
};

void AddMapOptions(CLI::App& app, MapOptions& options);

// Error (kUsage) for options that contradict each other, (kUnsupported) for
// those that come later; before any work.
void CheckMapOptions(const MapOptions& options, bool json);

// Error (kUsage) for heads and tokens that do not exist, (kSize) when the
// result would be too large.
MapRequest ResolveMapOptions(const MapOptions& options,
                             const LoadedModel& loaded, Context& context);

// Origin of the maps, as every format carries it: model, hash, tokenizer,
// dtype, mask, program, options. No paths, no dates.
Json MapMeta(const MapRequest& request, const LoadedModel& loaded);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MAP_OPTIONS_H_
