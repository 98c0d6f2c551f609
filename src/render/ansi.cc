// A map for the terminal: one line a row, 3, 2 or 1 columns a cell.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "base/display_width.h"
#include "base/utf8.h"
#include "regard/render.h"
#include "render/map_cells.h"
#include "render/scene_parts.h"
#include "render/text_metrics.h"

namespace regard::inline v0 {

namespace {

constexpr int kLeastWidth = 24;
// Columns kept for row labels: "@22 animal ". Room for 23 cells of three
// columns (35 of two, 70 of one) beside them in 80 columns.
constexpr int kLeastLabel = 11, kLeastNarrowLabel = 10;
constexpr int kMostLabel = 28;  // a longer one is cut
constexpr int kBlockWidth = 2;  // of a pooled cell: about a square

// Escape codes, or none at all.
class Ink {
 public:
  explicit Ink(bool color) : color_(color) {}
  std::string Dim(const std::string& text) const { return Styled("2", text); }
  std::string Bold(const std::string& text) const { return Styled("1", text); }
  std::string On(Rgb ground, Rgb ink, const std::string& text) const {
    return Styled("48;2;" + Channels(ground) + ";38;2;" + Channels(ink), text);
  }

 private:
  static std::string Channels(Rgb c) {
    return std::to_string(c.r) + ';' + std::to_string(c.g) + ';' +
           std::to_string(c.b);
  }
  std::string Styled(const std::string& codes, const std::string& text) const {
    if (!color_) return text;
    return "\x1b[" + codes + "m" + text + "\x1b[0m";
  }
  bool color_;
};

struct TextMap {
  const HeatMap& map;
  const HeatMapStyle& style;
  TerminalStyle terminal;
  MapCells cells;
  ColorRange range;
  Ink ink;
  int64_t block = 1;  // edge of a pooled cell
  int cell_width = 3;
  int label_width = 0;  // of the row labels with what separates them
  std::vector<std::string> labels = {};
};

// Blocks of block x block cells reduced to their largest value; a NaN stays
// seen, and a block is hidden when all of it is.
MapCells Pooled(const MapCells& cells, int64_t block) {
  MapCells pooled;
  pooled.rows = CeilDiv(cells.rows, block);
  pooled.columns = CeilDiv(cells.columns, block);
  const auto size = static_cast<size_t>(pooled.rows * pooled.columns);
  pooled.values.assign(size, 0);
  pooled.kinds.assign(size, CellKind::kHidden);
  // Which kind of cell speaks for its block.
  const auto importance = [](CellKind kind) {
    switch (kind) {
      case CellKind::kHidden:
        return 0;
      case CellKind::kOutside:
        return 1;
      case CellKind::kValue:
        return 2;
      case CellKind::kNotANumber:
        break;
    }
    return 3;
  };
  for (int64_t i = 0; i < cells.rows; ++i) {
    for (int64_t j = 0; j < cells.columns; ++j) {
      const size_t from = cells.Index(i, j);
      const size_t to = pooled.Index(i / block, j / block);
      const int gain =
          importance(cells.kinds[from]) - importance(pooled.kinds[to]);
      if (gain > 0 || (gain == 0 && cells.values[from] > pooled.values[to])) {
        pooled.values[to] = cells.values[from];
        pooled.kinds[to] = cells.kinds[from];
      }
    }
  }
  return pooled;
}

// The widest cells that fit; blocks when not even one column a cell does.
void ChooseCells(TextMap& text) {
  const auto columns = text.cells.columns;
  const int width = text.terminal.width;
  if (3 * columns + kLeastLabel <= width) {
    text.cell_width = 3;
  } else if (2 * columns + kLeastNarrowLabel <= width) {
    text.cell_width = 2;
  } else if (columns + kLeastNarrowLabel <= width) {
    text.cell_width = 1;
  } else {
    text.cell_width = kBlockWidth;
    const int64_t blocks = (width - kLeastNarrowLabel) / kBlockWidth;
    text.block = CeilDiv(columns, blocks);
    text.cells = Pooled(text.cells, text.block);
  }
}

// What a row or column of the map counts as in the text.
int64_t NumberOf(const TextMap& text, int64_t index) {
  const std::vector<int64_t>& positions = text.map.positions;
  return positions.empty() ? index : positions[static_cast<size_t>(index)];
}

std::string PositionOf(const TextMap& text, int64_t row) {
  const std::string first =
      "@" + std::to_string(NumberOf(text, row * text.block));
  if (text.block == 1) return first;
  const int64_t last =
      std::min((row + 1) * text.block, text.map.values.shape[0]) - 1;
  return first + "-" + std::to_string(NumberOf(text, last));
}

void ChooseLabels(TextMap& text) {
  const int room = text.terminal.width -
                   text.cell_width * static_cast<int>(text.cells.columns);
  const int separator = 1;
  const int mark = text.map.marked_rows ? 1 : 0;
  const int position = DisplayWidth(PositionOf(text, text.cells.rows - 1));
  const auto shown = ShownLabels(text.map.row_labels, text.map.values.shape[0]);
  int longest = 0;
  for (int64_t i = 0; i < text.cells.rows; ++i) {
    std::string label = PositionOf(text, i);
    if (text.block == 1 && !text.map.row_labels.empty()) {
      label = PadRight(label, position + 1) + shown[static_cast<size_t>(i)];
    }
    label = CutToWidth(label, std::min(kMostLabel, room - separator - mark));
    longest = std::max(longest, DisplayWidth(label));
    text.labels.push_back(std::move(label));
  }
  text.label_width = mark + longest + separator;
}

TextMap Prepare(const HeatMap& map, const HeatMapStyle& style,
                const TerminalStyle& terminal) {
  TextMap text{.map = map,
               .style = style,
               .terminal = terminal,
               .cells = ReadCells(map),
               .range = ColorRange(style),
               .ink = Ink(terminal.color)};
  text.terminal.width = std::max(terminal.width, kLeastWidth);
  ChooseCells(text);
  ChooseLabels(text);
  return text;
}

std::string WithoutTrailingSpace(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// One header line: `entry(column)` over each cell, right-aligned.
template <typename Entry>
std::string HeaderLine(const TextMap& text, const std::string& left,
                       const Entry& entry) {
  std::string line = PadLeft(left, text.label_width);
  for (int64_t j = 0; j < text.cells.columns; ++j) {
    line += PadLeft(entry(j), text.cell_width);
  }
  return WithoutTrailingSpace(line) + '\n';
}

// Positions too wide for their cell, written downwards; higher digits only
// where they change.
std::string DigitHeader(const TextMap& text) {
  int64_t unit = 1;
  while (unit * 10 <= NumberOf(text, text.cells.columns - 1)) unit *= 10;
  std::string lines;
  for (bool first = true; unit > 0; unit /= 10, first = false) {
    lines += HeaderLine(text, first ? "@ " : "", [&](int64_t j) {
      const int64_t number = NumberOf(text, j);
      const bool leading_zero = number < unit && unit > 1;
      const bool same =
          unit > 1 && j > 0 && NumberOf(text, j - 1) / unit == number / unit;
      if (same || leading_zero) return std::string();
      return std::to_string(number / unit % 10);
    });
  }
  return lines;
}

// The first position of every fifth block.
std::string BlockHeader(const TextMap& text) {
  std::string line(static_cast<size_t>(text.label_width), ' ');
  for (int64_t j = 0; j < text.cells.columns; j += 5) {
    const std::string position =
        "@" + std::to_string(NumberOf(text, j * text.block));
    const auto at = static_cast<size_t>(text.label_width + text.cell_width * j);
    if (at + position.size() > static_cast<size_t>(text.terminal.width)) {
      break;
    }
    line.resize(std::max(at, line.size()), ' ');
    if (line.size() == at) line += position;
  }
  return line + '\n';
}

// Whether a marked row (column) is among those that are shown as `block`.
bool InBlock(const TextMap& text, const std::optional<Mark>& mark,
             int64_t block) {
  return mark && mark->first / text.block <= block &&
         block <= (mark->first + mark->count - 1) / text.block;
}

std::string Header(const TextMap& text) {
  std::string lines;
  if (text.map.marked_columns) {
    lines += HeaderLine(text, "", [&](int64_t j) {
      return InBlock(text, text.map.marked_columns, j) ? "v" : "";
    });
  }
  if (text.block > 1) return lines + BlockHeader(text);
  constexpr int64_t kWidestInCell = 99;  // "@99"
  if (text.cell_width < 3 ||
      NumberOf(text, text.cells.columns - 1) > kWidestInCell) {
    return lines + DigitHeader(text);
  }
  return lines +
         HeaderLine(text, "", [&](int64_t j) { return PositionOf(text, j); });
}

// Two digits each would run together where most cells have two.
bool ShowsTenths(const TextMap& text) {
  return text.cell_width == 1 || text.block > 1;
}

// Hundredths, or tenths of the range where there is less room.
std::string CellText(const TextMap& text, size_t index) {
  const double value = static_cast<double>(text.cells.values[index]);
  switch (text.cells.kinds[index]) {
    case CellKind::kHidden:
      return "";
    case CellKind::kNotANumber:
      return text.cell_width == 3 ? "NaN" : "!";
    case CellKind::kValue:
    case CellKind::kOutside:
      break;
  }
  if (ShowsTenths(text)) {
    const int tenths =
        std::min(9, static_cast<int>(10 * text.range.Position(value)));
    return tenths == 0 ? "·" : std::to_string(tenths);
  }
  const double hundredths = std::round(100 * value);
  const double most = text.cell_width == 3 ? 999 : 99;
  const double least = text.cell_width == 3 ? -99 : -9;
  if (hundredths == 0) return "·";
  return std::to_string(static_cast<int>(std::clamp(hundredths, least, most)));
}

Rgb Blend(Rgb a, Rgb b, double part) {
  const auto mix = [part](uint8_t x, uint8_t y) {
    return static_cast<uint8_t>(std::lround(x + part * (y - x)));
  };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

std::string CellOnColor(const TextMap& text, size_t index) {
  const std::string number = CellText(text, index);
  const std::string padded = PadLeft(number, text.cell_width);
  if (!text.terminal.color) return padded;
  if (text.cells.kinds[index] == CellKind::kOutside) {
    return text.ink.Dim(padded);
  }
  const Rgb ground = text.cells.Color(index, text.range);
  const Rgb ink = TextColorOn(ground);
  return text.ink.On(ground, number == "·" ? Blend(ground, ink, 0.35) : ink,
                     padded);
}

std::string RowLine(const TextMap& text, int64_t row) {
  const HeatMap& map = text.map;
  const bool marked = InBlock(text, map.marked_rows, row);
  const bool grey = text.block == 1 && !map.grey_rows.empty() &&
                    map.grey_rows[static_cast<size_t>(row)];
  std::string label = text.labels[static_cast<size_t>(row)];
  if (map.marked_rows) label = (marked ? '>' : ' ') + label;
  label = PadRight(label, text.label_width);
  // No terminal draws the numbers after it from right to left as well.
  label = WithLeftToRightEnd(label);
  std::string line = marked ? text.ink.Bold(label)
                     : grey ? text.ink.Dim(label)
                            : label;
  for (int64_t j = 0; j < text.cells.columns; ++j) {
    line += CellOnColor(text, text.cells.Index(row, j));
  }
  return (text.terminal.color ? line : WithoutTrailingSpace(line)) + '\n';
}

std::string Wrapped(const TextMap& text, const std::string& paragraph) {
  std::string out;
  for (const std::string& line :
       WrappedLines(VisibleLines(paragraph), text.terminal.width,
                    [](std::string_view part) {
                      return static_cast<double>(DisplayWidth(part));
                    })) {
    out += line + '\n';
  }
  return out;
}

// "0 ........ 0.4" in the colours of the range.
std::string ColorBar(const TextMap& text) {
  if (!text.terminal.color) return "";
  const std::string low = ShortNumber(text.range.low());
  const std::string high = ShortNumber(text.range.high());
  const int steps = std::min<int>(
      40, text.terminal.width - static_cast<int>(low.size() + high.size()) - 2);
  std::string bar;
  for (int i = 0; i < steps; ++i) {
    const Rgb color = text.range.AtPosition((i + 0.5) / steps);
    bar += text.ink.On(color, color, " ");
  }
  return low + ' ' + bar + ' ' + high + '\n';
}

std::string NumbersLegend(const TextMap& text) {
  if (ShowsTenths(text)) {
    return "Digits are tenths of the " + text.range.Describe() + "; · is less.";
  }
  std::string legend = "Numbers are hundredths, · is less than half of one";
  if (text.cell_width == 2) legend += ", 99 also stands for more";
  return legend + ".";
}

std::string Legend(const TextMap& text) {
  CellCounts counts;
  counts.Add(ReadCells(text.map), text.range);
  std::string legend = "Rows: " + text.style.row_axis +
                       "; columns: " + text.style.column_axis + ". ";
  if (text.block > 1) {
    const std::string edge = std::to_string(text.block);
    legend +=
        "Each cell is the largest of " + edge + " x " + edge + " weights. ";
  }
  legend += NumbersLegend(text);
  if (text.terminal.color) {
    legend += " Colour: " + text.style.value_name + ", " +
              text.range.Describe() + ".";
    for (const std::string& remark : RangeRemarks(counts, text.range)) {
      legend += ' ' + remark;
    }
    if (counts.outside > 0) legend += " Uncoloured columns: not in that range.";
  }
  if (counts.hidden > 0) legend += " Blank: hidden by the mask.";
  if (counts.not_a_number > 0) {
    legend += text.cell_width == 3 ? " NaN" : " !";
    legend += ": not a number (" + std::to_string(counts.not_a_number) + ").";
  }
  return ColorBar(text) + Wrapped(text, legend) +
         Wrapped(text, text.style.note);
}

}  // namespace

std::string HeatMapText(const HeatMap& map, const HeatMapStyle& style,
                        const TerminalStyle& terminal) {
  const TextMap text = Prepare(map, style, terminal);
  std::string out;
  if (!terminal.compact) {
    // Bold as a whole: the lines are already as wide as they may be.
    const std::string title = Wrapped(text, style.title);
    if (!title.empty()) out += text.ink.Bold(title);
  }
  out += Header(text);
  for (int64_t i = 0; i < text.cells.rows; ++i) out += RowLine(text, i);
  if (!terminal.compact) out += Legend(text);
  return out;
}

}  // namespace regard::inline v0
