#include "cli/rank/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/display_width.h"
#include "cli/paint.h"
#include "cli/text_layout.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t kDefaultTop = 10;
constexpr int kWord = 12;  // columns for a token

std::string Fixed(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return "inf";
  if (value >= 1000) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, digits);
}

// A number in `width` columns after two blanks, right-aligned.
std::string Number(double value, int digits, int width) {
  return "  " + PadLeft(Fixed(value, digits), width);
}

// A weight, shaded by its size.
std::string Weight(double weight, bool color) {
  HeatMapStyle style;
  style.scale = ColorScale::kSqrt;
  const std::string text = PadLeft(Fixed(weight, 4), 6);
  return "  " + OnBackground(text, ColorOf(style, weight), color);
}

std::string Word(const RankColumn& column, int64_t token) {
  if (token < 0) return PadRight("-", kWord);
  return PadRight(CutToWidth(VisibleText(column.text->labels[token]), kWord),
                  kWord);
}

std::string Quoted(const std::string& text, int width) {
  return "\"" + CutToWidth(VisibleText(text), std::max(8, width - 2)) + "\"";
}

std::string EndsText(const RankColumn& column) {
  const auto name = [](const std::optional<TokenSpan>& span, const char* none) {
    return span ? VisibleText(span->text) : std::string(none);
  };
  return name(column.from, "strongest source") + " -> " +
         name(column.to, "strongest target");
}

size_t Shown(size_t rows, const RankOptions& options) {
  return RowsToShow(rows, options.top.value_or(kDefaultTop));
}

std::string MoreText(size_t rows, const RankOptions& options) {
  const size_t shown = Shown(rows, options);
  if (shown == rows) return "";
  return fmt::format("{}: --top {}\n",
                     Counted(static_cast<int64_t>(rows - shown), "more head"),
                     rows);
}

std::string LinkRow(const RankColumn& column, const RankRow& row, bool color) {
  const LinkScore& s = row.score;
  return PadRight(ToString(s.head), 7) + Weight(s.weight, color) +
         PadLeft(s.rank > 0 ? std::to_string(s.rank) : "-", 6) +
         Number(s.row_max, 4, 6) + " " + Word(column, s.row_argmax) +
         Number(s.entropy, 2, 7) + Number(s.baseline, 4, 8) +
         Number(s.lift, 2, 6) + Number(s.norm, 4, 6) + "\n";
}

std::string LinkTable(const RankColumn& column, const RankOptions& options,
                      const std::vector<size_t>& order, bool color) {
  std::string out = Bold(
      "head     weight  rank  largest in its row  entropy  baseline    lift"
      "    norm",
      color);
  out += '\n';
  for (size_t i = 0; i < Shown(order.size(), options); ++i) {
    out += LinkRow(column, column.rows[order[i]], color);
  }
  return out;
}

std::string StrongestRowText(const RankColumn& column, const RankRow& row,
                             bool color) {
  const LinkScore& s = row.score;
  return PadRight(ToString(s.head), 7) + Weight(s.weight, color) + "  " +
         Word(column, row.found->first) + Number(s.baseline, 4, 8) +
         Number(s.lift, 2, 6) + Number(s.norm, 4, 6) +
         Weight(row.word.weight, color) + "  " +
         Word(column, column.from ? row.word.key : row.word.query) + "\n";
}

std::string StrongestTable(const RankColumn& column, const RankOptions& options,
                           const std::vector<size_t>& order, bool color) {
  std::string out =
      Bold("head     weight  " + PadRight(column.from ? "to" : "from", kWord) +
               "  baseline    lift    norm  strongest word",
           color);
  out += '\n';
  for (size_t i = 0; i < Shown(order.size(), options); ++i) {
    out += StrongestRowText(column, column.rows[order[i]], color);
  }
  return out;
}

std::string OneColumn(const RankColumn& column, const RankOptions& options,
                      const Console& console) {
  const std::string sort = options.sort.value_or("weight");
  const std::vector<size_t> order = RankOrder(column.rows, sort);
  const bool both = column.from && column.to;
  std::string out = Quoted(column.text->encoding.texts[0], console.width()) +
                    "\n" + EndsText(column) + " in " +
                    Counted(static_cast<int64_t>(column.rows.size()), "head") +
                    ", by " + sort + "\n\n";
  out += both ? LinkTable(column, options, order, console.color())
              : StrongestTable(column, options, order, console.color());
  out += MoreText(order.size(), options);
  out += Dim(Wrapped("lift: weight / baseline, the mean weight to the same "
                     "place from all other tokens. norm: its share of what the "
                     "head carries; a large weight on a small value carries "
                     "little.",
                     console.width(), 0),
             console.color()) +
         "\n";
  return out;
}

// "a", "b", ... for the columns of a contrast.
std::string ColumnName(size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('a' + index))
                    : "column " + std::to_string(index + 1);
}

std::string ColumnsHead(const std::vector<RankColumn>& columns, int width) {
  std::string out;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = ColumnName(i) + "  ";
    const std::string ends = "  " + EndsText(columns[i]);
    out += name +
           Quoted(columns[i].text->encoding.texts[0],
                  width - DisplayWidth(name) - DisplayWidth(ends)) +
           ends + "\n";
  }
  return out;
}

std::string Contrast(const std::vector<RankColumn>& columns,
                     const RankOptions& options, const Console& console) {
  constexpr int kBar = 20;
  const RankDifference difference = DifferenceOf(columns[0], columns[1]);
  std::string header = PadRight("head", 7);
  for (size_t i = 0; i < columns.size(); ++i) {
    header += "  " + PadLeft(ColumnName(i), 6);
  }
  header += "    a - b";
  std::string out = ColumnsHead(columns, console.width()) + "\n" +
                    Bold(header, console.color()) + "\n";
  const size_t rows = difference.order.size();
  for (size_t i = 0; i < Shown(rows, options); ++i) {
    const size_t row = difference.order[i];
    out += PadRight(ToString(columns[0].rows[row].score.head), 7);
    for (const RankColumn& column : columns) {
      out += Weight(column.rows[row].score.weight, console.color());
    }
    const double d = difference.weight[row];
    out += Number(d, 4, 7) + "  " + Bar(std::abs(d), kBar);
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out + MoreText(rows, options);
}

}  // namespace

std::string RankText(const std::vector<RankColumn>& columns,
                     const RankOptions& options, const Console& console) {
  return columns.size() == 1 ? OneColumn(columns[0], options, console)
                             : Contrast(columns, options, console);
}

}  // namespace regard::inline v0
