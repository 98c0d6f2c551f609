// Layout of many maps: title; titles of columns; titles of rows and maps; one
// colour bar; legend and notes.
#include <algorithm>
#include <cmath>

#include "base/display_width.h"
#include "render/map_cells.h"
#include "render/scene.h"
#include "render/scene_parts.h"
#include "render/text_metrics.h"

namespace regard::inline v0 {

namespace {

using Anchor = TextItem::Anchor;

constexpr double kMapSide = 62;  // twelve of them fill the width of a page
constexpr double kGap = 7;

// All maps lie in one matrix of cells, `step` cells apart.
struct GridLayout {
  int64_t columns = 1, rows = 1;          // of maps
  int64_t map_rows = 1, map_columns = 1;  // cells of the largest map
  int64_t row_step = 1, column_step = 1;  // cells
  double cell = 1;                        // points
  double row_title = 0;                   // width
  bool map_titles = false;
  double x = 0, y = 0;  // of the first map

  double MapX(int64_t column) const {
    return x + cell * static_cast<double>(column * column_step);
  }
  double MapY(int64_t row) const {
    return y + cell * static_cast<double>(row * row_step);
  }
  int64_t CellRows() const { return (rows - 1) * row_step + map_rows; }
  int64_t CellColumns() const {
    return (columns - 1) * column_step + map_columns;
  }
};

void CheckTitles(const char* subject, size_t count, int64_t wanted) {
  if (count == 0 || static_cast<int64_t>(count) == wanted) return;
  throw Error(ErrorKind::kArgument, subject,
              std::to_string(count) + " given for " + std::to_string(wanted),
              "give one each, or none");
}

GridLayout Measure(const MapGrid& grid) {
  if (grid.maps.empty() || grid.columns < 1) {
    throw Error(ErrorKind::kArgument, "map grid",
                std::to_string(grid.maps.size()) + " maps in " +
                    std::to_string(grid.columns) + " columns",
                "give at least one of each");
  }
  GridLayout layout;
  const auto maps = static_cast<int64_t>(grid.maps.size());
  layout.columns = std::min<int64_t>(grid.columns, maps);
  layout.rows = (maps + layout.columns - 1) / layout.columns;
  CheckTitles("map grid: titles", grid.titles.size(), maps);
  CheckTitles("map grid: row_titles", grid.row_titles.size(), layout.rows);
  CheckTitles("map grid: column_titles", grid.column_titles.size(),
              layout.columns);
  for (const TensorView& map : grid.maps) {
    if (map.rank() != 2) continue;  // refused with its shape by ReadCells
    layout.map_rows = std::max(layout.map_rows, map.shape[0]);
    layout.map_columns = std::max(layout.map_columns, map.shape[1]);
  }
  const int64_t longest = std::max(layout.map_rows, layout.map_columns);
  layout.cell = std::max(
      SnapDown(std::min(kMapSide / static_cast<double>(longest), 12.0)), 0.24);
  layout.map_titles = grid.row_titles.empty() && !grid.titles.empty();
  const auto cells = [&](double points) {
    return static_cast<int64_t>(std::ceil(points / layout.cell));
  };
  layout.column_step = layout.map_columns + cells(kGap);
  layout.row_step = layout.map_rows +
                    cells(kGap + (layout.map_titles ? kSmallSize * 1.3 : 0));
  for (const std::string& title : grid.row_titles) {
    layout.row_title =
        std::max(layout.row_title, EstimatedWidth(title, kTextSize));
  }
  layout.map_titles = grid.row_titles.empty() && !grid.titles.empty();
  layout.x =
      SnapUp(kMargin + (layout.row_title > 0 ? layout.row_title + 6 : 0));
  return layout;
}

void AddGridTitles(Scene& scene, const MapGrid& grid,
                   const GridLayout& layout) {
  const double half_width =
      layout.cell * static_cast<double>(layout.map_columns) / 2;
  const double half_height =
      layout.cell * static_cast<double>(layout.map_rows) / 2;
  for (size_t j = 0; j < grid.column_titles.size(); ++j) {
    scene.items.push_back(
        TextItem{.x = layout.MapX(static_cast<int64_t>(j)) + half_width,
                 .y = layout.y - 5,
                 .size = kTextSize,
                 .anchor = Anchor::kMiddle,
                 .color = kInk,
                 .text = VisibleText(grid.column_titles[j])});
  }
  for (size_t i = 0; i < grid.row_titles.size(); ++i) {
    scene.items.push_back(TextItem{.x = layout.x - 6,
                                   .y = layout.MapY(static_cast<int64_t>(i)) +
                                        half_height + 0.36 * kTextSize,
                                   .size = kTextSize,
                                   .anchor = Anchor::kEnd,
                                   .color = kInk,
                                   .text = VisibleText(grid.row_titles[i])});
  }
}

// Colours the cells of map `index`; returns its frame.
RectItem PlaceMap(CellsItem& all, const MapGrid& grid, const GridLayout& layout,
                  size_t index, const ColorRange& range, CellCounts& counts) {
  const MapCells cells = ReadCells("map grid: map " + std::to_string(index),
                                   grid.maps[index], grid.hidden, {});
  counts.Add(cells, range);
  const int64_t row = static_cast<int64_t>(index) / layout.columns;
  const int64_t column = static_cast<int64_t>(index) % layout.columns;
  for (int64_t i = 0; i < cells.rows; ++i) {
    for (int64_t j = 0; j < cells.columns; ++j) {
      all.colors[all.Index(row * layout.row_step + i,
                           column * layout.column_step + j)] =
          cells.Color(cells.Index(i, j), range);
    }
  }
  return RectItem{
      .x = layout.MapX(column),
      .y = layout.MapY(row),
      .width = layout.cell * static_cast<double>(cells.columns),
      .height = layout.cell * static_cast<double>(cells.rows),
      .stroke = kFrameColor,
      .stroke_width = 0.5,
      .hover = grid.titles.empty() ? "" : VisibleText(grid.titles[index])};
}

void AddMarks(Scene& scene, const MapGrid& grid, const GridLayout& layout) {
  for (size_t i = 0; i < grid.maps.size(); ++i) {
    const TensorView& map = grid.maps[i];
    const auto index = static_cast<int64_t>(i);
    const std::string subject = "map grid: map " + std::to_string(i);
    CheckMark(subject + ": marked_rows", grid.marked_rows, map.shape[0]);
    CheckMark(subject + ": marked_columns", grid.marked_columns, map.shape[1]);
    AddMarks(scene,
             MapPlace{layout.MapX(index % layout.columns),
                      layout.MapY(index / layout.columns), layout.cell,
                      map.shape[0], map.shape[1]},
             grid.marked_rows, grid.marked_columns);
  }
}

void AddMaps(Scene& scene, const MapGrid& grid, const GridLayout& layout,
             const ColorRange& range, CellCounts& counts) {
  CellsItem all{.x = layout.x,
                .y = layout.y,
                .cell_width = layout.cell,
                .cell_height = layout.cell,
                .rows = layout.CellRows(),
                .columns = layout.CellColumns(),
                .ground = kWhite};
  all.colors.assign(static_cast<size_t>(all.rows * all.columns), kWhite);
  std::vector<RectItem> frames;
  for (size_t i = 0; i < grid.maps.size(); ++i) {
    frames.push_back(PlaceMap(all, grid, layout, i, range, counts));
  }
  scene.items.push_back(std::move(all));
  for (const RectItem& frame : frames) scene.items.push_back(frame);
  AddMarks(scene, grid, layout);
  if (!layout.map_titles) return;
  for (const RectItem& frame : frames) {
    scene.items.push_back(TextItem{.x = frame.x,
                                   .y = frame.y - 3,
                                   .size = kSmallSize,
                                   .color = kInk,
                                   .text = frame.hover});
  }
}

std::string GridDescription(const MapGrid& grid, const HeatMapStyle& style,
                            const ColorRange& range) {
  return VisibleText(std::to_string(grid.maps.size()) + " heat maps of " +
                     style.value_name + ", each with rows (" + style.row_axis +
                     ", row 0 on top) and columns (" + style.column_axis +
                     "), all on one " + range.Describe() + ".");
}

}  // namespace

Scene GridScene(const MapGrid& grid, const HeatMapStyle& style) {
  GridLayout layout = Measure(grid);
  const ColorRange range(style);
  Scene scene;
  scene.title =
      style.title.empty() ? "Attention maps" : VisibleText(style.title);
  scene.description = GridDescription(grid, style, range);

  const double height = layout.cell * static_cast<double>(layout.CellRows());
  const double bar_height = ColorBarHeight(height);
  const double bar_x =
      layout.x + layout.cell * static_cast<double>(layout.CellColumns()) + 18;
  const double right =
      std::max(bar_x + ColorBarWidth(range, style, bar_height), kMargin + 240);
  const double inner = right - kMargin;
  double y = AddTitle(scene, style.title, kMargin, inner);
  if (!style.title.empty()) y += 8;
  if (!grid.column_titles.empty()) y += kTextSize + 5;
  if (layout.map_titles) y += kSmallSize * 1.3;
  layout.y = SnapUp(y);
  AddGridTitles(scene, grid, layout);
  CellCounts counts;
  AddMaps(scene, grid, layout, range, counts);
  AddColorBar(scene, range, style, bar_x, layout.y, bar_height);
  y = layout.y + std::max(height, bar_height) + 12;
  const std::vector<std::string> remarks = {
      "In each map: " + VisibleText(style.row_axis) + " downwards, " +
      VisibleText(style.column_axis) + " to the right."};
  y = AddLegend(scene, counts, range, style, remarks, y, inner);
  scene.width = SnapUp(right + kMargin);
  scene.height = SnapUp(y + kMargin);
  return scene;
}

}  // namespace regard::inline v0
