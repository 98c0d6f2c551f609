// regard map: the attention maps of a text.
#include <CLI/App.hpp>
#include <memory>

#include "cli/map/arrays.h"
#include "cli/map/options.h"
#include "cli/map/pictures.h"
#include "io/file.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

MapData DataOf(const MapRequest& request, const AttentionMaps& maps,
               Context& context) {
  std::vector<HeadId> heads = request.chosen;
  const bool rectangular =
      request.format == MapFormat::kNpz || request.format == MapFormat::kJson;
  if (rectangular && request.averaging == Averaging::kNone) {
    heads = RectangleAround(request.chosen);
    if (heads.size() != request.chosen.size()) {
      context.console.Note(
          "arrays are rectangular: all " + std::to_string(heads.size()) +
          " heads of the layers and heads that were named are in it");
    }
  }
  return BuildMaps(maps, GroupHeads(heads, request.averaging), request.tokens,
                   request.options->renormalize);
}

void WritePicture(const MapRequest& request, const std::string& bytes) {
  RequireSize(request.options->output, static_cast<int64_t>(bytes.size()),
              "choose heads with --head, or a smaller --dpi");
  WriteFile(request.path, bytes);
}

void Write(const MapRequest& request, const LoadedModel& loaded,
           const AttentionMaps& maps, Context& context) {
  if (request.format == MapFormat::kTerminal) {
    return context.console.Print(
        MapText(request, loaded, maps, context.console));
  }
  const MapData data = DataOf(request, maps, context);
  const Json meta = MapMeta(request, loaded);
  switch (request.format) {
    case MapFormat::kNpz:
      WriteMapNpz(request.path, request, data, meta);
      break;
    case MapFormat::kCsv:
      WriteMapCsv(request.path, request, data, context.console);
      break;
    case MapFormat::kJson:
      WriteFile(request.path, MapJson(request, data, meta));
      break;
    default:
      WritePicture(request, MapPicture(request, loaded, data, meta));
  }
  ReportWritten(context, request.path, Name(request.format));
}

void RequireNoBinaryTerminal(const MapRequest& request,
                             const Console& console) {
  const bool binary =
      request.format == MapFormat::kNpz || request.format == MapFormat::kPng;
  if (request.path != "-" || !binary || !console.is_terminal()) return;
  throw Error(ErrorKind::kUsage, Name(request.format),
              "is binary and would go to the terminal",
              "name a file with -o, or send it into a pipe");
}

void Run(const MapOptions& options, Context& context) {
  CheckMapOptions(options, context.common.json);
  const LoadedModel loaded = LoadModel(options.model);
  const MapRequest request = ResolveMapOptions(options, loaded, context);
  RequireNoBinaryTerminal(request, context.console);
  const AttentionMaps maps =
      RunModel(loaded, request.encoding, /*value_norms=*/false, context);
  Write(request, loaded, maps, context);
}

std::function<void(Context&)> Setup(CLI::App& app) {
  auto options = std::make_shared<MapOptions>();
  AddMapOptions(app, *options);
  return [options](Context& context) { Run(*options, context); };
}

}  // namespace

extern const Command kMapCommand;
const Command kMapCommand = {
    "map", "the attention map of a text, as a picture or as numbers",
    "regard map \"The animal didn't cross the street because it was too "
    "tired.\" --from it",
    Setup};

}  // namespace regard::inline v0
