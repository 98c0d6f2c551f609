// Pictures of attention maps: one layout (scene), several formats.
#ifndef REGARD_RENDER_H_
#define REGARD_RENDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "regard/tensor.h"

namespace regard::inline v0 {

enum class Colormap { kBlues, kViridis, kCividis };
// How a value becomes a place between vmin and vmax on the colour bar: itself,
// its square root, or its logarithm (from vmax / 1000 when vmin is not > 0).
enum class ColorScale { kLinear, kSqrt, kLog };

struct HeatMapStyle {
  Colormap colormap = Colormap::kBlues;
  ColorScale scale = ColorScale::kLinear;
  // The range of the colours, stated in the picture, never guessed. Values
  // outside it take the colour of its end, and their number is stated.
  double vmin = 0, vmax = 1;
  bool numbers = false;  // values in hundredths inside the cells
  std::string title = {};
  std::string row_axis = "query position";
  std::string column_axis = "key/value position";
  std::string value_name = "attention weight";  // beside the colour bar
  std::string note = {};  // what the reader must know: masses hidden, pooling
};

// Neighbouring rows or columns to point at.
struct Mark {
  int64_t first = 0, count = 1;

  bool Holds(int64_t i) const { return i >= first && i < first + count; }
};

// One map with its labels. Row 0 is drawn on top.
struct HeatMap {
  TensorView values = {};  // [rows, columns] f32; NaN cells are drawn as such
  // One per row and column, or none: then positions are printed.
  std::vector<std::string> row_labels = {}, column_labels = {};
  // What @ counts where the same rows and columns of a square map are left out:
  // ascending, one per row. None: 0, 1, 2, ...
  std::vector<int64_t> positions = {};
  // Special tokens; may be empty.
  std::vector<bool> grey_rows = {}, grey_columns = {};
  std::optional<Mark> marked_rows = {}, marked_columns = {};
  // Cells that a mask hides, drawn in a distinct grey: [rows, columns] bool,
  // or not given.
  TensorView hidden = {};
  // Columns that are drawn but do not take part in the colour range.
  std::vector<bool> outside_range = {};
};

// Many small unlabelled maps on one scale, row by row.
struct MapGrid {
  std::vector<TensorView> maps = {};     // each as HeatMap::values
  std::vector<std::string> titles = {};  // "L0H0", ...; one per map, or none
  int columns = 1;
  std::vector<std::string> row_titles = {}, column_titles = {};
  // As in HeatMap, the same for every map.
  TensorView hidden = {};
  std::optional<Mark> marked_rows = {}, marked_columns = {};
};

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb&) const = default;
};
// The colour of a value in the style's map and range; NaN has one of its own.
// Error (kArgument) for a range that isn't one.
Rgb ColorOf(const HeatMapStyle& style, double value);

// What stands in the file about its origin, in this order.
using Provenance = std::vector<std::pair<std::string, std::string>>;

struct PictureOptions {
  double dpi = 300;  // png
  Provenance provenance =
      {};  // model, hash, version, options; no dates, no paths
};

// Whole files as bytes: same input, same fonts, same bytes.
//
// Error (kArgument) when shapes and labels disagree or a map has no cells;
// (kSize) when a png would be larger than what can be drawn.
std::string HeatMapSvg(const HeatMap& map, const HeatMapStyle& style,
                       const PictureOptions& options = {});
std::string HeatMapPng(const HeatMap& map, const HeatMapStyle& style,
                       const PictureOptions& options = {});
std::string GridSvg(const MapGrid& grid, const HeatMapStyle& style,
                    const PictureOptions& options = {});
std::string GridPng(const MapGrid& grid, const HeatMapStyle& style,
                    const PictureOptions& options = {});

// The formats of the two functions below: "svg", "png".
std::vector<std::string> PictureFormats();
// In a format by its name; Error (kUsage) naming the known ones.
std::string HeatMapPicture(const std::string& format, const HeatMap& map,
                           const HeatMapStyle& style,
                           const PictureOptions& options = {});
std::string GridPicture(const std::string& format, const MapGrid& grid,
                        const HeatMapStyle& style,
                        const PictureOptions& options = {});

struct TerminalStyle {
  int width = 80;        // columns of the terminal
  bool color = false;    // 24-bit ANSI colours; false: no escape codes at all
  bool compact = false;  // the header and the rows alone: no title, no legend
};
// A map for the terminal: hundredths on colour, three, two or one column a
// cell by width, max-pooled beyond (the block size is stated). No line is wider
// than `width`, or than 24 where that is less. Ends with a newline.
std::string HeatMapText(const HeatMap& map, const HeatMapStyle& style,
                        const TerminalStyle& terminal);

}  // namespace regard::inline v0

#endif  // REGARD_RENDER_H_
