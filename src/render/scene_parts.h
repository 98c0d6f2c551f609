// What all pictures share around their maps: measures, colours, title, colour
// bar, legend and notes.
#ifndef REGARD_SRC_RENDER_SCENE_PARTS_H_
#define REGARD_SRC_RENDER_SCENE_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "regard/render.h"
#include "render/map_cells.h"
#include "render/scene.h"

namespace regard::inline v0 {

inline constexpr double kMargin = 14;
inline constexpr double kTitleSize = 13, kTextSize = 9, kSmallSize = 8;
inline constexpr double kLineHeight = 1.35;  // of the font size
inline constexpr Rgb kInk = {0x22, 0x22, 0x22};
inline constexpr Rgb kSoftInk = {0x55, 0x55, 0x55};
inline constexpr Rgb kGreyLabel = {0x8C, 0x8C, 0x8C};
inline constexpr Rgb kFrameColor = {0x9A, 0x9A, 0x9A};
inline constexpr Rgb kMarkColor = {0xD9, 0x4E, 0x00};
inline constexpr Rgb kWhite = {255, 255, 255};

// Multiples of 0.24 pt are whole pixels at 300, 600 and 1200 dpi: cells and
// their origins stand on them, so that no edge is blurred.
double SnapDown(double points);
double SnapUp(double points);

// Title lines from `y` down, wrapped to `width`; returns the y below them.
double AddTitle(Scene& scene, const std::string& title, double y, double width);

// Small lines from `y` down, wrapped to `width`; returns the y below them.
double AddParagraph(Scene& scene, const std::string& text, double y,
                    double width);

// Height of the colour bar beside maps of this height.
double ColorBarHeight(double plot_height);
// Width that AddColorBar needs, from the bar's left edge.
double ColorBarWidth(const ColorRange& range, const HeatMapStyle& style,
                     double height);
void AddColorBar(Scene& scene, const ColorRange& range,
                 const HeatMapStyle& style, double x, double y, double height);

// Where a map of square cells stands.
struct MapPlace {
  double x = 0, y = 0, cell = 0;
  int64_t rows = 0, columns = 0;
};
// Frames around the marked rows and columns.
void AddMarks(Scene& scene, const MapPlace& place,
              const std::optional<Mark>& rows,
              const std::optional<Mark>& columns);

// Swatches for what the colour bar doesn't show, the scale, remarks and the
// note; returns the y below them.
double AddLegend(Scene& scene, const CellCounts& counts,
                 const ColorRange& range, const HeatMapStyle& style,
                 const std::vector<std::string>& remarks, double y,
                 double width);

// User text of several lines: the breaks stay, everything else is made visible.
std::string VisibleLines(const std::string& text);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_SCENE_PARTS_H_
