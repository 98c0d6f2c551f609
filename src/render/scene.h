// A laid-out picture without a format: cells, rectangles, lines and text at
// their places. Units are points (1/72 inch), y grows downwards, later items
// lie on earlier ones. Text is free of what VisibleText removes.
#ifndef REGARD_SRC_RENDER_SCENE_H_
#define REGARD_SRC_RENDER_SCENE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "regard/render.h"

namespace regard::inline v0 {

// The typeface of every text, first one found.
inline constexpr const char* kFontFamilies[] = {
    "Helvetica",   "Arial",     "Liberation Sans",
    "DejaVu Sans", "Noto Sans", "sans-serif"};

struct TextItem {
  enum class Anchor { kStart, kMiddle, kEnd };
  double x = 0, y = 0;  // of the anchor, on the base line
  double size = 9;
  Anchor anchor = Anchor::kStart;
  double angle = 0;  // degrees, clockwise, around the anchor
  Rgb color = {};
  bool bold = false;
  std::string text = {};

  bool SameStyle(const TextItem& other) const {
    return size == other.size && anchor == other.anchor &&
           color == other.color && bold == other.bold;
  }
};

struct RectItem {
  double x = 0, y = 0, width = 0, height = 0;
  std::optional<Rgb> fill = {}, stroke = {};
  double stroke_width = 0;
  std::string hover = {};  // shown when the pointer rests on it
};

struct LineItem {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  Rgb color = {};
  double width = 0;

  bool SameStyle(const LineItem& other) const {
    return color == other.color && width == other.width;
  }
};

// A matrix of coloured cells.
struct CellsItem {
  double x = 0, y = 0, cell_width = 0, cell_height = 0;
  int64_t rows = 0, columns = 0;
  std::vector<Rgb> colors = {};         // row by row
  std::optional<Rgb> ground = {};       // cells of this colour are not drawn
  std::vector<std::string> hover = {};  // one per cell, or none

  size_t Index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * columns + column);
  }
};

using SceneItem = std::variant<CellsItem, RectItem, LineItem, TextItem>;

struct Scene {
  double width = 0, height = 0;
  std::string title, description;  // for those who can't see it
  std::vector<SceneItem> items;
};

// Error (kArgument) when shapes and labels disagree or there are no cells.
Scene HeatMapScene(const HeatMap& map, const HeatMapStyle& style);
Scene GridScene(const MapGrid& grid, const HeatMapStyle& style);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_SCENE_H_
