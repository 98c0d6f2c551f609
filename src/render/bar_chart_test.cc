#include "render/bar_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "render/scene_parts.h"
#include "render/test_maps.h"
#include "render/test_scene.h"

namespace regard::inline v0 {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using Kind = ChartBar::Kind;

BarChart Example() {
  BarChart chart;
  chart.title = "Shares";
  chart.axis = "share of the whole";
  chart.good = "good ones";
  chart.bad = "bad ones";
  chart.plain = "plain ones";
  chart.tick = "what to reach";
  chart.groups = {
      {"first",
       {{.label = "a", .value = 0.5, .kind = Kind::kGood, .tick = 0.4},
        {.label = "b",
         .value = 0.25,
         .kind = Kind::kBad,
         .tick = 0.75,
         .remark = "half of a"}}},
      {"second", {{.label = "c", .value = 1}}}};
  return chart;
}

template <typename Item>
std::vector<Item> ItemsOf(const Scene& scene) {
  std::vector<Item> items;
  for (const SceneItem& item : scene.items) {
    if (const auto* found = std::get_if<Item>(&item)) items.push_back(*found);
  }
  return items;
}

std::vector<std::string> Texts(const Scene& scene) {
  std::vector<std::string> texts;
  for (const TextItem& item : ItemsOf<TextItem>(scene)) {
    texts.push_back(item.text);
  }
  return texts;
}

// Those that say something when the pointer rests on them.
std::vector<RectItem> Bars(const Scene& scene) {
  std::vector<RectItem> bars = ItemsOf<RectItem>(scene);
  std::erase_if(bars, [](const RectItem& rect) { return rect.hover.empty(); });
  return bars;
}

TEST(BarChartTest, EverythingLiesInsideThePicture) {
  ExpectAllInside(BarChartScene(Example()));
  BarChart chart = Example();
  for (const std::string& label : HostileLabels()) {
    chart.groups[0].bars.push_back(
        {.label = label, .value = 7, .tick = 0, .remark = label + label});
  }
  chart.note = std::string(300, 'n') + " and more words after the long one";
  ExpectAllInside(BarChartScene(chart));
  ExpectAllInside(BarChartScene(BarChart{}));
}

TEST(BarChartTest, BarsAreAsLongAsTheirValues) {
  const std::vector<RectItem> bars = Bars(BarChartScene(Example()));
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_DOUBLE_EQ(bars[0].width, bars[2].width / 2);
  EXPECT_DOUBLE_EQ(bars[1].width, bars[2].width / 4);
  for (const RectItem& bar : bars) EXPECT_EQ(bar.x, bars[0].x);
  EXPECT_EQ(bars[1].hover, "b: 25.0 %, half of a");
  EXPECT_NE(bars[0].fill, bars[1].fill);
}

TEST(BarChartTest, TicksStandAtTheirShare) {
  const Scene scene = BarChartScene(Example());
  const std::vector<RectItem> bars = Bars(scene);
  std::vector<double> ticks;
  for (const LineItem& line : ItemsOf<LineItem>(scene)) {
    if (line.color == kInk) ticks.push_back(line.x1 - bars[0].x);
  }
  // The first one is the legend's.
  ASSERT_EQ(ticks.size(), 3u);
  EXPECT_NEAR(ticks[1], 0.4 * bars[2].width, 1e-9);
  EXPECT_NEAR(ticks[2], 0.75 * bars[2].width, 1e-9);
}

TEST(BarChartTest, AxisReachesAsFarAsBars) {
  BarChart chart = Example();
  EXPECT_THAT(Texts(BarChartScene(chart)), Not(Contains("125 %")));
  chart.groups[0].bars[0].value = 1.2;
  EXPECT_THAT(Texts(BarChartScene(chart)), Contains("125 %"));
  chart.groups[0].bars[0].value = 400;  // drawn to 2, its value is printed
  const std::vector<std::string> texts = Texts(BarChartScene(chart));
  EXPECT_THAT(texts, Contains("200 %"));
  EXPECT_THAT(texts, Contains("40000.0 %"));
  EXPECT_THAT(texts, Not(Contains("225 %")));
}

TEST(BarChartTest, LegendNamesWhatOccurs) {
  BarChart chart = Example();
  chart.groups.pop_back();
  EXPECT_THAT(Texts(BarChartScene(chart)), Contains("good ones"));
  EXPECT_THAT(Texts(BarChartScene(chart)), Contains("what to reach"));
  EXPECT_THAT(Texts(BarChartScene(chart)), Not(Contains("plain ones")));
  chart = Example();
  chart.groups.erase(chart.groups.begin());
  EXPECT_THAT(Texts(BarChartScene(chart)), Not(Contains("plain ones")));
}

TEST(BarChartTest, DescriptionSaysAll) {
  const Scene scene = BarChartScene(Example());
  EXPECT_EQ(scene.title, "Shares");
  EXPECT_EQ(scene.description,
            "share of the whole. first, a: 50.0 %; first, b: 25.0 %, half of "
            "a; second, c: 100.0 %.");
}

}  // namespace
}  // namespace regard::inline v0
