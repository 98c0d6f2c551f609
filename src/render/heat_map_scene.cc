// Layout of one map: title; column title and labels; row title, row labels,
// cells, colour bar; legend and notes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/display_width.h"
#include "render/map_cells.h"
#include "render/scene.h"
#include "render/scene_parts.h"
#include "render/text_metrics.h"

namespace regard::inline v0 {

namespace {

using Anchor = TextItem::Anchor;

constexpr double kMaxLabel = 118;     // points before a label is cut
constexpr double kLabelGap = 4;       // between labels and cells
constexpr double kTightestLabel = 8;  // distance of labels of 7 pt
constexpr size_t kMaxHoverCells = 4000;
// Hundredths need 14 pt a cell to be read.
constexpr double kSmallestNumberCell = 14;

// Squares: large for a few tokens, still labelled one by one up to 75, and at
// least one pixel at 300 dpi.
double CellSize(int64_t longest) {
  const double n = static_cast<double>(longest);
  const double cell = longest <= 75 ? std::clamp(400 / n, 9.6, 44.0) : 720 / n;
  return std::max(SnapDown(cell), 0.24);
}

// Every how many rows a label fits: 1, 2, 5, 10, 20, ...
int64_t LabelStep(double cell) {
  int64_t step = 1;
  for (int64_t decade = 1; static_cast<double>(step) * cell < kTightestLabel;
       decade *= 10) {
    for (const int64_t part : {1, 2, 5}) {
      step = part * decade;
      if (static_cast<double>(step) * cell >= kTightestLabel) break;
    }
  }
  return step;
}

struct Labels {
  std::vector<std::string> texts = {};  // fitted; empty where left out
  double longest = 0;                   // points
};

struct Layout {
  const HeatMap& map;
  const HeatMapStyle& style;
  MapCells cells;
  ColorRange range;
  CellCounts counts = {};
  double cell = 0, label_size = 0;
  int64_t label_step = 1;
  Labels rows = {}, columns = {};
  double column_angle = 0;
  double plot_x = 0, plot_y = 0, plot_width = 0, plot_height = 0;
  double bar_height = 0;
};

// Every label_step-th position is labelled, and the first marked one in place
// of those that it would touch.
bool IsLabelled(const Layout& layout, int64_t i,
                const std::optional<Mark>& mark) {
  if (mark && layout.label_step > 1) {
    if (i == mark->first) return true;
    if (std::abs(i - mark->first) < layout.label_step) return false;
  }
  return i % layout.label_step == 0;
}

Labels FitLabels(const std::vector<std::string>& given, int64_t count,
                 const std::optional<Mark>& mark, const Layout& layout) {
  Labels labels;
  labels.texts = ShownLabels(given, count);
  for (int64_t i = 0; i < count; ++i) {
    std::string& text = labels.texts[static_cast<size_t>(i)];
    if (!IsLabelled(layout, i, mark)) {
      text.clear();
      continue;
    }
    // With labels left out, positions tell where the others are.
    if (layout.label_step > 1 && !given.empty()) {
      const std::vector<int64_t>& positions = layout.map.positions;
      const int64_t number =
          positions.empty() ? i : positions[static_cast<size_t>(i)];
      text = "@" + std::to_string(number) + " " + text;
    }
    const bool bold = mark && mark->Holds(i);
    const double size = layout.label_size * (bold ? kBoldWidening : 1);
    text = CutToPoints(text, size, kMaxLabel);
    labels.longest = std::max(labels.longest, EstimatedWidth(text, size));
  }
  return labels;
}

double ColumnAngle(const Layout& layout) {
  if (layout.columns.longest <=
      layout.cell * static_cast<double>(layout.label_step) - 4) {
    return 0;
  }
  // Slanted lines stand cell / sqrt(2) apart.
  return layout.cell >= 1.5 * layout.label_size ? -45 : -90;
}

Layout Measure(const HeatMap& map, const HeatMapStyle& style) {
  Layout layout{.map = map,
                .style = style,
                .cells = ReadCells(map),
                .range = ColorRange(style)};
  layout.counts.Add(layout.cells, layout.range);
  layout.cell = CellSize(std::max(layout.cells.rows, layout.cells.columns));
  layout.label_size = std::clamp(0.75 * layout.cell, 7.0, kTextSize);
  layout.label_step = LabelStep(layout.cell);
  layout.rows =
      FitLabels(map.row_labels, layout.cells.rows, map.marked_rows, layout);
  layout.columns = FitLabels(map.column_labels, layout.cells.columns,
                             map.marked_columns, layout);
  layout.column_angle = ColumnAngle(layout);
  layout.plot_width = layout.cell * static_cast<double>(layout.cells.columns);
  layout.plot_height = layout.cell * static_cast<double>(layout.cells.rows);
  layout.bar_height = ColorBarHeight(layout.plot_height);
  const double axis = style.row_axis.empty() ? 0 : kTextSize * 1.9;
  layout.plot_x = SnapUp(kMargin + axis + layout.rows.longest + kLabelGap);
  return layout;
}

double ColumnLabelHeight(const Layout& layout) {
  const double text = layout.label_size;
  if (layout.column_angle == 0) return text;
  if (layout.column_angle == -90) return layout.columns.longest;
  return (layout.columns.longest + text) / std::numbers::sqrt2;
}

// How far a slanted label of the last columns reaches beyond the plot.
double ColumnOverhang(const Layout& layout) {
  if (layout.column_angle != -45) return 0;
  double overhang = 0;
  for (size_t j = 0; j < layout.columns.texts.size(); ++j) {
    const double from = layout.cell * (static_cast<double>(j) + 0.5);
    const double reach =
        EstimatedWidth(layout.columns.texts[j], layout.label_size) /
        std::numbers::sqrt2;
    overhang = std::max(overhang, from + reach + 4 - layout.plot_width);
  }
  return overhang;
}

TextItem Label(const Layout& layout, const std::string& text, bool grey,
               bool marked) {
  return TextItem{.size = layout.label_size,
                  .color = marked ? kMarkColor
                           : grey ? kGreyLabel
                                  : kInk,
                  .bold = marked,
                  .text = text};
}

bool At(const std::vector<bool>& flags, size_t i) {
  return !flags.empty() && flags[i];
}

bool Holds(const std::optional<Mark>& mark, size_t i) {
  return mark && mark->Holds(static_cast<int64_t>(i));
}

void AddRowLabels(Scene& scene, const Layout& layout) {
  const HeatMap& map = layout.map;
  for (size_t i = 0; i < layout.rows.texts.size(); ++i) {
    if (layout.rows.texts[i].empty()) continue;
    TextItem item = Label(layout, layout.rows.texts[i], At(map.grey_rows, i),
                          Holds(map.marked_rows, i));
    item.x = layout.plot_x - kLabelGap;
    item.y = layout.plot_y + layout.cell * (static_cast<double>(i) + 0.5) +
             0.36 * layout.label_size;
    item.anchor = Anchor::kEnd;
    scene.items.push_back(std::move(item));
  }
  if (layout.style.row_axis.empty()) return;
  scene.items.push_back(TextItem{.x = kMargin + kTextSize,
                                 .y = layout.plot_y + layout.plot_height / 2,
                                 .size = kTextSize,
                                 .anchor = Anchor::kMiddle,
                                 .angle = -90,
                                 .color = kInk,
                                 .text = VisibleText(layout.style.row_axis)});
}

void AddColumnLabels(Scene& scene, const Layout& layout) {
  const HeatMap& map = layout.map;
  // The base line meets the middle of the column at the height of the gap.
  const double shift = layout.column_angle == -90   ? 0.36
                       : layout.column_angle == -45 ? 0.2
                                                    : 0;
  for (size_t j = 0; j < layout.columns.texts.size(); ++j) {
    if (layout.columns.texts[j].empty()) continue;
    TextItem item =
        Label(layout, layout.columns.texts[j], At(map.grey_columns, j),
              Holds(map.marked_columns, j));
    item.x = layout.plot_x + layout.cell * (static_cast<double>(j) + 0.5) +
             shift * layout.label_size;
    item.y = layout.plot_y - kLabelGap;
    item.anchor = layout.column_angle == 0 ? Anchor::kMiddle : Anchor::kStart;
    item.angle = layout.column_angle;
    scene.items.push_back(std::move(item));
  }
}

std::string Hover(const Layout& layout, const std::vector<std::string>& rows,
                  const std::vector<std::string>& columns, int64_t i,
                  int64_t j) {
  const size_t index = layout.cells.Index(i, j);
  std::string text = rows[static_cast<size_t>(i)] + " → " +
                     columns[static_cast<size_t>(j)] + ": ";
  if (layout.cells.kinds[index] == CellKind::kHidden) return text + "hidden";
  if (layout.cells.kinds[index] == CellKind::kNotANumber) {
    return text + "not a number";
  }
  return text + ShortNumber(static_cast<double>(layout.cells.values[index]));
}

void AddCells(Scene& scene, const Layout& layout) {
  const MapCells& cells = layout.cells;
  CellsItem item{.x = layout.plot_x,
                 .y = layout.plot_y,
                 .cell_width = layout.cell,
                 .cell_height = layout.cell,
                 .rows = cells.rows,
                 .columns = cells.columns};
  item.colors.reserve(cells.values.size());
  for (size_t i = 0; i < cells.values.size(); ++i) {
    item.colors.push_back(cells.Color(i, layout.range));
  }
  if (cells.values.size() <= kMaxHoverCells) {
    const auto rows = ShownLabels(layout.map.row_labels, cells.rows);
    const auto columns = ShownLabels(layout.map.column_labels, cells.columns);
    for (int64_t i = 0; i < cells.rows; ++i) {
      for (int64_t j = 0; j < cells.columns; ++j) {
        item.hover.push_back(Hover(layout, rows, columns, i, j));
      }
    }
  }
  scene.items.push_back(std::move(item));
}

// White lines between cells that are large enough to spare them.
void AddGaps(Scene& scene, const Layout& layout) {
  if (layout.cell < 9) return;
  const double width = layout.cell < 16 ? 0.48 : 0.96;
  const double right = layout.plot_x + layout.plot_width;
  const double bottom = layout.plot_y + layout.plot_height;
  for (int64_t i = 1; i < layout.cells.rows; ++i) {
    const double y = layout.plot_y + layout.cell * static_cast<double>(i);
    scene.items.push_back(LineItem{layout.plot_x, y, right, y, kWhite, width});
  }
  for (int64_t j = 1; j < layout.cells.columns; ++j) {
    const double x = layout.plot_x + layout.cell * static_cast<double>(j);
    scene.items.push_back(LineItem{x, layout.plot_y, x, bottom, kWhite, width});
  }
}

// A white cross in each cell that holds no number, where there is room.
void AddCrosses(Scene& scene, const Layout& layout) {
  if (layout.counts.not_a_number == 0 || layout.cell < 4) return;
  for (int64_t i = 0; i < layout.cells.rows; ++i) {
    for (int64_t j = 0; j < layout.cells.columns; ++j) {
      if (layout.cells.kinds[layout.cells.Index(i, j)] !=
          CellKind::kNotANumber) {
        continue;
      }
      const double inset = 0.25 * layout.cell;
      const double x1 =
          layout.plot_x + layout.cell * static_cast<double>(j) + inset;
      const double y1 =
          layout.plot_y + layout.cell * static_cast<double>(i) + inset;
      const double x2 = x1 + layout.cell - 2 * inset;
      const double y2 = y1 + layout.cell - 2 * inset;
      scene.items.push_back(LineItem{x1, y1, x2, y2, kWhite, 0.8});
      scene.items.push_back(LineItem{x1, y2, x2, y1, kWhite, 0.8});
    }
  }
}

std::string Hundredths(float value) {
  const double hundredths = std::round(static_cast<double>(value) * 100);
  if (std::abs(hundredths) > 9999) return "";
  return std::to_string(static_cast<int>(hundredths));
}

// Numbers in all cells on request; in columns outside the range always, since
// no colour tells their values.
void AddNumbers(Scene& scene, const Layout& layout) {
  if (layout.cell < kSmallestNumberCell) return;
  const double size = std::min(9.0, 0.42 * layout.cell);
  for (int64_t i = 0; i < layout.cells.rows; ++i) {
    for (int64_t j = 0; j < layout.cells.columns; ++j) {
      const size_t index = layout.cells.Index(i, j);
      const CellKind kind = layout.cells.kinds[index];
      if (kind != CellKind::kOutside &&
          !(layout.style.numbers && kind == CellKind::kValue)) {
        continue;
      }
      const Rgb ink =
          kind == CellKind::kOutside
              ? kSoftInk
              : TextColorOn(layout.cells.Color(index, layout.range));
      scene.items.push_back(TextItem{
          .x = layout.plot_x + layout.cell * (static_cast<double>(j) + 0.5),
          .y = layout.plot_y + layout.cell * (static_cast<double>(i) + 0.5) +
               0.36 * size,
          .size = size,
          .anchor = Anchor::kMiddle,
          .color = ink,
          .text = Hundredths(layout.cells.values[index])});
    }
  }
}

void AddFrameAndMarks(Scene& scene, const Layout& layout) {
  const MapPlace place{layout.plot_x, layout.plot_y, layout.cell,
                       layout.cells.rows, layout.cells.columns};
  scene.items.push_back(RectItem{place.x, place.y, layout.plot_width,
                                 layout.plot_height, std::nullopt, kFrameColor,
                                 0.6});
  AddMarks(scene, place, layout.map.marked_rows, layout.map.marked_columns);
}

std::vector<std::string> Remarks(const Layout& layout) {
  std::vector<std::string> remarks;
  if (layout.style.numbers && layout.cell >= kSmallestNumberCell) {
    remarks.push_back("Numbers are hundredths.");
  } else if (layout.style.numbers) {
    remarks.push_back("No numbers: the cells are too small for them.");
  } else if (layout.counts.outside > 0 && layout.cell >= kSmallestNumberCell) {
    remarks.push_back("Numbers are hundredths.");
  }
  if (layout.label_step > 1) {
    remarks.push_back("One in " + std::to_string(layout.label_step) +
                      " positions is labelled.");
  }
  return remarks;
}

std::string Description(const Layout& layout) {
  const MapCells& cells = layout.cells;
  std::string text = "Heat map of " + std::to_string(cells.rows) + " rows (" +
                     layout.style.row_axis + ", row 0 on top) by " +
                     std::to_string(cells.columns) + " columns (" +
                     layout.style.column_axis + "). Colour shows " +
                     layout.style.value_name + " on a " +
                     layout.range.Describe() + ".";
  std::optional<size_t> largest;
  for (size_t i = 0; i < cells.values.size(); ++i) {
    if (cells.kinds[i] == CellKind::kValue &&
        (!largest || cells.values[i] > cells.values[*largest])) {
      largest = i;
    }
  }
  if (!largest) return VisibleText(text);
  const auto i = static_cast<int64_t>(*largest);
  const auto rows = ShownLabels(layout.map.row_labels, cells.rows);
  const auto columns = ShownLabels(layout.map.column_labels, cells.columns);
  return VisibleText(text) + " Largest: " +
         Hover(layout, rows, columns, i / cells.columns, i % cells.columns) +
         ".";
}

}  // namespace

Scene HeatMapScene(const HeatMap& map, const HeatMapStyle& style) {
  Layout layout = Measure(map, style);
  Scene scene;
  scene.title =
      style.title.empty() ? "Attention map" : VisibleText(style.title);
  scene.description = Description(layout);

  const double bar_x = layout.plot_x + layout.plot_width + 18;
  const double right =
      std::max({bar_x + ColorBarWidth(layout.range, style, layout.bar_height),
                layout.plot_x + layout.plot_width + ColumnOverhang(layout),
                kMargin + 240});
  const double inner = right - kMargin;
  double y = AddTitle(scene, style.title, kMargin, inner);
  if (!style.title.empty()) y += 8;
  if (!style.column_axis.empty()) {
    y += kTextSize;
    scene.items.push_back(TextItem{.x = layout.plot_x + layout.plot_width / 2,
                                   .y = y,
                                   .size = kTextSize,
                                   .anchor = Anchor::kMiddle,
                                   .color = kInk,
                                   .text = VisibleText(style.column_axis)});
    y += 7;
  }
  layout.plot_y = SnapUp(y + ColumnLabelHeight(layout) + kLabelGap);
  AddColumnLabels(scene, layout);
  AddRowLabels(scene, layout);
  AddCells(scene, layout);
  AddGaps(scene, layout);
  AddCrosses(scene, layout);
  AddNumbers(scene, layout);
  AddFrameAndMarks(scene, layout);
  AddColorBar(scene, layout.range, style, bar_x, layout.plot_y,
              layout.bar_height);
  // The row title of a low map reaches below it.
  const double row_title = EstimatedWidth(style.row_axis, kTextSize);
  y = layout.plot_y + std::max({layout.plot_height, layout.bar_height,
                                (layout.plot_height + row_title) / 2});
  y = AddLegend(scene, layout.counts, layout.range, style, Remarks(layout),
                y + 12, inner);
  scene.width = SnapUp(right + kMargin);
  scene.height = SnapUp(y + kMargin);
  return scene;
}

}  // namespace regard::inline v0
