#include "render/scene_parts.h"

#include <algorithm>
#include <cmath>

#include "base/display_width.h"
#include "render/text_metrics.h"

namespace regard::inline v0 {

namespace {

constexpr double kSnap = 0.24;
constexpr double kBarWidth = 12;
constexpr double kTickLength = 3;
constexpr double kSwatch = 8;

struct Swatch {
  Rgb color;
  std::string text;
};

std::vector<Swatch> Swatches(const CellCounts& counts) {
  std::vector<Swatch> swatches;
  if (counts.hidden > 0) {
    swatches.push_back({kHiddenColor, "hidden by the mask"});
  }
  if (counts.outside > 0) {
    swatches.push_back({kOutsideColor, "not in the colour range"});
  }
  if (counts.not_a_number > 0) {
    swatches.push_back(
        {kNotANumberColor,
         "not a number (" + std::to_string(counts.not_a_number) + ")"});
  }
  return swatches;
}

// In rows of at most `width`; returns the y below.
double AddSwatches(Scene& scene, const std::vector<Swatch>& swatches, double y,
                   double width) {
  if (swatches.empty()) return y;
  const double line = kSmallSize * kLineHeight + 3;
  double x = kMargin;
  for (const Swatch& swatch : swatches) {
    const double needed =
        kSwatch + 4 + EstimatedWidth(swatch.text, kSmallSize) + 14;
    if (x > kMargin && x + needed > kMargin + width) {
      x = kMargin;
      y += line;
    }
    scene.items.push_back(
        RectItem{x, y + 1, kSwatch, kSwatch, swatch.color, kFrameColor, 0.5});
    scene.items.push_back(TextItem{.x = x + kSwatch + 4,
                                   .y = y + kSmallSize,
                                   .size = kSmallSize,
                                   .color = kSoftInk,
                                   .text = swatch.text});
    x += needed;
  }
  return y + line;
}

std::vector<double> BarTicks(const ColorRange& range, double height) {
  // At most about twelve, or as many as there is room for.
  return range.Ticks(std::max(1.9 * kSmallSize / height, 0.08));
}

}  // namespace

std::string VisibleLines(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (begin > 0) out += '\n';
    out += VisibleText(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

double SnapDown(double points) {
  return std::floor(points / kSnap + 1e-6) * kSnap;
}

double SnapUp(double points) {
  return std::ceil(points / kSnap - 1e-6) * kSnap;
}

double AddTitle(Scene& scene, const std::string& title, double y,
                double width) {
  for (const std::string& line :
       WrappedLines(VisibleLines(title), kTitleSize * kBoldWidening, width)) {
    y += kTitleSize * kLineHeight;
    scene.items.push_back(TextItem{.x = kMargin,
                                   .y = y - kTitleSize * (kLineHeight - 1),
                                   .size = kTitleSize,
                                   .color = kInk,
                                   .bold = true,
                                   .text = line});
  }
  return y;
}

double ColorBarHeight(double plot_height) {
  return std::clamp(plot_height, 96.0, 420.0);
}

double ColorBarWidth(const ColorRange& range, const HeatMapStyle& style,
                     double height) {
  double ticks = 0;
  for (const double tick : BarTicks(range, height)) {
    ticks = std::max(ticks, EstimatedWidth(ShortNumber(tick), kSmallSize));
  }
  const double name =
      style.value_name.empty() ? 0 : 6 + kTextSize * kLineHeight;
  return kBarWidth + kTickLength + 3 + ticks + name;
}

void AddMarks(Scene& scene, const MapPlace& place,
              const std::optional<Mark>& rows,
              const std::optional<Mark>& columns) {
  // Around small cells, not on them.
  const double outset = place.cell < 6 ? 0.9 : 0;
  const double stroke = place.cell < 6 ? 0.9 : 1.5;
  const auto mark = [&](Mark down, Mark across) {
    const auto points = [&](int64_t cells) {
      return place.cell * static_cast<double>(cells);
    };
    scene.items.push_back(RectItem{place.x + points(across.first) - outset,
                                   place.y + points(down.first) - outset,
                                   points(across.count) + 2 * outset,
                                   points(down.count) + 2 * outset,
                                   std::nullopt, kMarkColor, stroke});
  };
  if (rows) mark(*rows, {0, place.columns});
  if (columns) mark({0, place.rows}, *columns);
}

void AddColorBar(Scene& scene, const ColorRange& range,
                 const HeatMapStyle& style, double x, double y, double height) {
  constexpr int64_t kSteps = 128;
  CellsItem bar{.x = x,
                .y = y,
                .cell_width = kBarWidth,
                .cell_height = height / kSteps,
                .rows = kSteps,
                .columns = 1};
  for (int64_t i = 0; i < kSteps; ++i) {
    bar.colors.push_back(
        range.AtPosition(1 - (static_cast<double>(i) + 0.5) / kSteps));
  }
  scene.items.push_back(std::move(bar));
  scene.items.push_back(
      RectItem{x, y, kBarWidth, height, std::nullopt, kFrameColor, 0.6});
  const double right = x + kBarWidth;
  const std::vector<double> ticks = BarTicks(range, height);
  for (const double tick : ticks) {
    const double at = y + height * (1 - range.Position(tick));
    scene.items.push_back(
        LineItem{right, at, right + kTickLength, at, kFrameColor, 0.6});
  }
  for (const double tick : ticks) {
    const double at = y + height * (1 - range.Position(tick));
    scene.items.push_back(TextItem{.x = right + kTickLength + 3,
                                   .y = at + 0.36 * kSmallSize,
                                   .size = kSmallSize,
                                   .color = kSoftInk,
                                   .text = ShortNumber(tick)});
  }
  if (style.value_name.empty()) return;
  scene.items.push_back(
      TextItem{.x = x + ColorBarWidth(range, style, height) - 0.25 * kTextSize,
               .y = y + height / 2,
               .size = kTextSize,
               .anchor = TextItem::Anchor::kMiddle,
               .angle = -90,
               .color = kInk,
               .text = VisibleText(style.value_name)});
}

double AddParagraph(Scene& scene, const std::string& text, double y,
                    double width) {
  for (const std::string& line : WrappedLines(text, kSmallSize, width)) {
    y += kSmallSize * kLineHeight;
    scene.items.push_back(TextItem{.x = kMargin,
                                   .y = y - kSmallSize * (kLineHeight - 1),
                                   .size = kSmallSize,
                                   .color = kSoftInk,
                                   .text = line});
  }
  return y;
}

double AddLegend(Scene& scene, const CellCounts& counts,
                 const ColorRange& range, const HeatMapStyle& style,
                 const std::vector<std::string>& remarks, double y,
                 double width) {
  y = AddSwatches(scene, Swatches(counts), y, width);
  std::string lines = "Colour: " + range.Describe() + ".";
  for (const std::string& remark : RangeRemarks(counts, range)) {
    lines += ' ' + remark;
  }
  for (const std::string& remark : remarks) lines += ' ' + remark;
  y = AddParagraph(scene, lines, y, width);
  return AddParagraph(scene, VisibleLines(style.note), y, width);
}

}  // namespace regard::inline v0
