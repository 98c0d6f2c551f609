// Layout: title; legend; axis; groups of bars, each under its title; note.
#include "render/bar_chart.h"

#include <algorithm>
#include <cmath>

#include "base/display_width.h"
#include "render/scene_parts.h"
#include "render/text_metrics.h"

namespace regard::inline v0 {

namespace {

using Anchor = TextItem::Anchor;

constexpr double kWhole = 230;                // points of a share of 1
constexpr double kPitch = 13, kBar = 8.6;     // from bar to bar, and its height
constexpr double kGap = 5;                    // between texts and bars
constexpr double kGroupGap = 5;               // between groups
constexpr double kLongest = 2, kStep = 0.25;  // of the axis
// Told apart by their lightness too.
constexpr Rgb kGoodColor = {0x2B, 0x6C, 0xB0}, kBadColor = {0xE5, 0x8A, 0x3C},
              kPlainColor = {0xA9, 0xBC, 0xD0}, kGridColor = {0xDD, 0xDD, 0xDD};

// Labels to the left of the bars; values and remarks in columns to the right,
// where no line of the grid runs through them.
struct Layout {
  double labels = 0, values = 0, remarks = 0;  // widths
  double end = 1;                              // of the axis
  int64_t bars = 0;
  double x = 0;  // of the axis' beginning

  double At(double share) const { return x + kWhole * std::min(share, end); }
  double ValuesEnd() const { return At(end) + 2 * kGap + values; }
};

std::string PercentText(double share, int decimals) {
  const double power = std::pow(10, decimals);
  const auto digits = static_cast<int64_t>(std::llround(share * 100 * power));
  std::string text = std::to_string(digits);
  if (decimals > 0) {
    const auto behind = static_cast<size_t>(decimals);
    if (text.size() <= behind) text.insert(0, behind + 1 - text.size(), '0');
    text.insert(text.size() - behind, ".");
  }
  return text + " %";
}

std::string ValueText(const ChartBar& bar) { return PercentText(bar.value, 1); }

std::string InWords(const ChartBar& bar) {
  const std::string remark = bar.remark.empty() ? "" : ", " + bar.remark;
  return VisibleText(bar.label + ": " + ValueText(bar) + remark);
}

Layout Measure(const BarChart& chart) {
  Layout layout;
  for (const ChartGroup& group : chart.groups) {
    layout.labels = std::max(
        layout.labels,
        EstimatedWidth(VisibleText(group.title), kTextSize * kBoldWidening));
    for (const ChartBar& bar : group.bars) {
      ++layout.bars;
      const auto widen = [](double& width, const std::string& text) {
        width = std::max(width, EstimatedWidth(VisibleText(text), kSmallSize));
      };
      widen(layout.labels, bar.label);
      widen(layout.values, ValueText(bar));
      widen(layout.remarks, bar.remark);
      layout.end = std::max({layout.end, bar.value, bar.tick.value_or(0)});
    }
  }
  layout.end = std::min(std::ceil(layout.end / kStep - 1e-9) * kStep, kLongest);
  layout.x = SnapUp(kMargin + layout.labels + kGap);
  return layout;
}

Rgb ColorOfKind(ChartBar::Kind kind) {
  return kind == ChartBar::Kind::kGood  ? kGoodColor
         : kind == ChartBar::Kind::kBad ? kBadColor
                                        : kPlainColor;
}

TextItem SmallText(double x, double y, const std::string& text,
                   Anchor anchor = Anchor::kStart) {
  return TextItem{.x = x,
                  .y = y,
                  .size = kSmallSize,
                  .anchor = anchor,
                  .color = kSoftInk,
                  .text = VisibleText(text)};
}

bool Has(const BarChart& chart, ChartBar::Kind kind) {
  for (const ChartGroup& group : chart.groups) {
    for (const ChartBar& bar : group.bars) {
      if (bar.kind == kind) return true;
    }
  }
  return false;
}

bool HasTicks(const BarChart& chart) {
  for (const ChartGroup& group : chart.groups) {
    for (const ChartBar& bar : group.bars) {
      if (bar.tick) return true;
    }
  }
  return false;
}

// Only what occurs, nothing where all are alike. Returns the y below.
double AddKinds(Scene& scene, const BarChart& chart, double y) {
  if (!Has(chart, ChartBar::Kind::kGood) && !Has(chart, ChartBar::Kind::kBad)) {
    return y;
  }
  constexpr double kSwatch = 8, kBetween = 14;
  double x = kMargin;
  const auto add = [&](const std::string& name) {
    scene.items.push_back(SmallText(x + kSwatch + 4, y + kSmallSize, name));
    x += kSwatch + 4 + EstimatedWidth(name, kSmallSize) + kBetween;
  };
  const std::pair<ChartBar::Kind, const std::string&> kinds[] = {
      {ChartBar::Kind::kGood, chart.good},
      {ChartBar::Kind::kBad, chart.bad},
      {ChartBar::Kind::kPlain, chart.plain}};
  for (const auto& [kind, name] : kinds) {
    if (!Has(chart, kind)) continue;
    scene.items.push_back(
        RectItem{x, y + 1, kSwatch, kSwatch, ColorOfKind(kind)});
    add(name);
  }
  if (HasTicks(chart)) {
    const double middle = x + kSwatch / 2;
    scene.items.push_back(
        LineItem{middle, y + 1, middle, y + 1 + kSwatch, kInk, 1.5});
    add(chart.tick);
  }
  return y + kSmallSize * kLineHeight + 4;
}

// Lines of the grid from `top` to `bottom`, their numbers above.
void AddAxis(Scene& scene, const Layout& layout, double top, double bottom) {
  const auto steps = static_cast<int>(std::lround(layout.end / kStep));
  for (int i = 0; i <= steps; ++i) {
    const double share = i * kStep;
    const double x = layout.At(share);
    const bool end = i == 0 || share == 1;
    scene.items.push_back(
        LineItem{x, top, x, bottom, end ? kFrameColor : kGridColor, 0.6});
    scene.items.push_back(
        SmallText(x, top - 3, PercentText(share, 0), Anchor::kMiddle));
  }
}

void AddBar(Scene& scene, const Layout& layout, const ChartBar& bar, double y) {
  const double base = y + (kPitch + kSmallSize * 0.72) / 2;
  const double top = y + (kPitch - kBar) / 2;
  scene.items.push_back(
      SmallText(layout.x - kGap, base, bar.label, Anchor::kEnd));
  scene.items.push_back(
      RectItem{.x = layout.x,
               .y = top,
               .width = std::max(layout.At(bar.value) - layout.x, 0.0),
               .height = kBar,
               .fill = ColorOfKind(bar.kind),
               .hover = InWords(bar)});
  if (bar.tick) {
    const double x = layout.At(*bar.tick);
    scene.items.push_back(LineItem{x, y + 0.8, x, y + kPitch - 0.8, kInk, 1.5});
  }
  scene.items.push_back(
      SmallText(layout.ValuesEnd(), base, ValueText(bar), Anchor::kEnd));
  if (bar.remark.empty()) return;
  scene.items.push_back(
      SmallText(layout.ValuesEnd() + 2 * kGap, base, bar.remark));
}

double GroupsHeight(const BarChart& chart, const Layout& layout) {
  return kPitch * static_cast<double>(layout.bars) +
         (kPitch + kGroupGap) * static_cast<double>(chart.groups.size());
}

// Returns the y below.
double AddGroups(Scene& scene, const BarChart& chart, const Layout& layout,
                 double y) {
  for (const ChartGroup& group : chart.groups) {
    y += kGroupGap + kPitch;
    scene.items.push_back(TextItem{.x = layout.x - kGap,
                                   .y = y - 3,
                                   .size = kTextSize,
                                   .anchor = Anchor::kEnd,
                                   .color = kInk,
                                   .bold = true,
                                   .text = VisibleText(group.title)});
    for (const ChartBar& bar : group.bars) {
      AddBar(scene, layout, bar, y);
      y += kPitch;
    }
  }
  return y;
}

std::string Description(const BarChart& chart) {
  std::string text = chart.axis + ".";
  for (const ChartGroup& group : chart.groups) {
    for (const ChartBar& bar : group.bars) {
      text += " " + group.title + ", " + InWords(bar) + ";";
    }
  }
  text.back() = '.';
  return VisibleText(text);
}

}  // namespace

Scene BarChartScene(const BarChart& chart) {
  const Layout layout = Measure(chart);
  Scene scene;
  scene.title = VisibleText(chart.title);
  scene.description = Description(chart);
  scene.width = layout.ValuesEnd() + 2 * kGap + layout.remarks + kMargin;
  const double inner = scene.width - 2 * kMargin;
  double y = AddTitle(scene, chart.title, kMargin, inner);
  y = AddParagraph(scene, chart.axis, y + 2, inner);
  y = AddKinds(scene, chart, y + 4);
  y += kSmallSize * kLineHeight + 2;
  AddAxis(scene, layout, y, y + GroupsHeight(chart, layout));
  y = AddGroups(scene, chart, layout, y);
  y = AddParagraph(scene, chart.note, y + 4, inner);
  scene.height = y + kMargin;
  return scene;
}

}  // namespace regard::inline v0
