#include "render/format_list.h"

#include "base/strings.h"
#include "render/cairo.h"
#include "render/svg.h"

namespace regard::inline v0 {

namespace {

// A new format is one file and one line here.
constexpr PictureFormat kFormats[] = {
    {"svg", SceneToSvg},
    {"png", SceneToPng},
};

}  // namespace

std::span<const PictureFormat> FormatList() { return kFormats; }

std::string ScenePicture(const std::string& name, const Scene& scene,
                         const PictureOptions& options) {
  for (const PictureFormat& format : kFormats) {
    if (name == format.name) return format.write(scene, options);
  }
  throw Error(ErrorKind::kUsage, "picture format " + name, "unknown",
              "known formats are " + Join(PictureFormats()));
}

std::vector<std::string> PictureFormats() {
  std::vector<std::string> names;
  for (const PictureFormat& format : kFormats) names.push_back(format.name);
  return names;
}

std::string HeatMapPicture(const std::string& format, const HeatMap& map,
                           const HeatMapStyle& style,
                           const PictureOptions& options) {
  return ScenePicture(format, HeatMapScene(map, style), options);
}

std::string GridPicture(const std::string& format, const MapGrid& grid,
                        const HeatMapStyle& style,
                        const PictureOptions& options) {
  return ScenePicture(format, GridScene(grid, style), options);
}

std::string HeatMapSvg(const HeatMap& map, const HeatMapStyle& style,
                       const PictureOptions& options) {
  return SceneToSvg(HeatMapScene(map, style), options);
}

std::string HeatMapPng(const HeatMap& map, const HeatMapStyle& style,
                       const PictureOptions& options) {
  return SceneToPng(HeatMapScene(map, style), options);
}

std::string GridSvg(const MapGrid& grid, const HeatMapStyle& style,
                    const PictureOptions& options) {
  return SceneToSvg(GridScene(grid, style), options);
}

std::string GridPng(const MapGrid& grid, const HeatMapStyle& style,
                    const PictureOptions& options) {
  return SceneToPng(GridScene(grid, style), options);
}

}  // namespace regard::inline v0
