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
enum class ColorScale { kLinear, kSqrt, kLog };

struct HeatMapStyle {
  Colormap colormap = Colormap::kBlues;
  ColorScale scale = ColorScale::kLinear;
  double vmin = 0, vmax = 1;  // stated beside the colour bar, never guessed
  bool numbers = false;       // values in hundredths inside the cells
  std::string title;
  std::string row_axis = "query position";
  std::string column_axis = "key/value position";
  std::string note;  // what the reader must know: masses hidden, pooling
};

// One map with its labels.
struct HeatMap {
  TensorView values;  // [rows, columns] f32; NaN cells are drawn as such
  std::vector<std::string> row_labels, column_labels;
  std::vector<bool> grey_rows, grey_columns;  // special tokens; may be empty
  std::optional<int64_t> marked_row, marked_column;
  // Cells that a mask hides, drawn in a distinct grey: [rows, columns] bool,
  // or not given.
  TensorView hidden;
  // Columns that are drawn but do not take part in the colour range.
  std::vector<bool> outside_range;
};

// Many small unlabelled maps on one scale, row by row.
struct MapGrid {
  std::vector<TensorView> maps;
  std::vector<std::string> titles;  // "L0H0", ...
  int columns = 1;
  std::vector<std::string> row_titles, column_titles;
};

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
};
// The colour of a value in the style's map and range.
Rgb ColorOf(const HeatMapStyle& style, double value);

// A laid-out picture: rectangles, text, images. Units are points (1/72 inch).
struct Scene;

using Provenance = std::vector<std::pair<std::string, std::string>>;

// Whole files as bytes: same input, same fonts, same bytes.
struct PictureOptions {
  double dpi = 300;       // png
  Provenance provenance;  // model, hash, version, options; no dates, no paths
};

std::string HeatMapSvg(const HeatMap& map, const HeatMapStyle& style,
                       const PictureOptions& options = {});
std::string HeatMapPng(const HeatMap& map, const HeatMapStyle& style,
                       const PictureOptions& options = {});
std::string GridSvg(const MapGrid& grid, const HeatMapStyle& style,
                    const PictureOptions& options = {});
std::string GridPng(const MapGrid& grid, const HeatMapStyle& style,
                    const PictureOptions& options = {});

struct TerminalStyle {
  int width = 80;      // columns of the terminal
  bool color = false;  // ANSI colours (24-bit); false: digits only
};
// A map for the terminal: hundredths on colour, three, two or one column a
// cell by width, max-pooled beyond (the block size is stated).
std::string HeatMapText(const HeatMap& map, const HeatMapStyle& style,
                        const TerminalStyle& terminal);

}  // namespace regard::inline v0

#endif  // REGARD_RENDER_H_
