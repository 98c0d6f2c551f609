#include "render/colormap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace regard::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

HeatMapStyle Style(Colormap colormap, ColorScale scale = ColorScale::kLinear,
                   double vmin = 0, double vmax = 1) {
  HeatMapStyle style;
  style.colormap = colormap;
  style.scale = scale;
  style.vmin = vmin;
  style.vmax = vmax;
  return style;
}

TEST(ColormapTest, LuminanceIsMonotone) {
  const auto luminances = [](Colormap colormap) {
    const ColorRange range(Style(colormap));
    std::vector<double> values;
    for (int i = 0; i < 256; ++i) {
      values.push_back(Luminance(range.AtPosition(i / 255.0)));
    }
    return values;
  };
  const auto blues = luminances(Colormap::kBlues);
  EXPECT_TRUE(std::is_sorted(blues.rbegin(), blues.rend()));
  for (const Colormap colormap : {Colormap::kViridis, Colormap::kCividis}) {
    const auto values = luminances(colormap);
    for (size_t i = 1; i < values.size(); ++i) {
      // Both tables are rounded to eight bits: a step back of one level.
      EXPECT_GT(values[i], values[i - 1] - 0.002) << i;
    }
  }
}

TEST(ColormapTest, LuminanceIsThatOfWcag) {
  EXPECT_NEAR(Luminance({255, 255, 255}), 1, 1e-12);
  EXPECT_EQ(Luminance({0, 0, 0}), 0);
  EXPECT_NEAR(Luminance({0, 255, 0}), 0.7152, 1e-12);
  EXPECT_NEAR(Luminance({0x77, 0x77, 0x77}), 0.18447, 1e-5);
  EXPECT_NEAR(Luminance({10, 10, 10}), 10 / 255.0 / 12.92, 1e-12);
}

TEST(ColormapTest, EndsAndMiddleOfTheTables) {
  EXPECT_EQ(ColorOf(Style(Colormap::kBlues), 0), (Rgb{0xF7, 0xFB, 0xFF}));
  EXPECT_EQ(ColorOf(Style(Colormap::kBlues), 0.5), (Rgb{0x6A, 0xAE, 0xD6}));
  EXPECT_EQ(ColorOf(Style(Colormap::kBlues), 1), (Rgb{0x08, 0x30, 0x6B}));
  EXPECT_EQ(ColorOf(Style(Colormap::kViridis), 0), (Rgb{0x44, 0x01, 0x54}));
  EXPECT_EQ(ColorOf(Style(Colormap::kViridis), 1), (Rgb{0xFD, 0xE7, 0x25}));
  EXPECT_EQ(ColorOf(Style(Colormap::kCividis), 0), (Rgb{0x00, 0x22, 0x4E}));
  EXPECT_EQ(ColorOf(Style(Colormap::kCividis), 1), (Rgb{0xFE, 0xE8, 0x38}));
}

TEST(ColormapTest, OutsideTheRangeIsItsEndAndNaNIsNeither) {
  const HeatMapStyle style =
      Style(Colormap::kBlues, ColorScale::kLinear, 0, 0.4);
  EXPECT_EQ(ColorOf(style, 7), ColorOf(style, 0.4));
  EXPECT_EQ(ColorOf(style, kInfinity), ColorOf(style, 0.4));
  EXPECT_EQ(ColorOf(style, -7), ColorOf(style, 0));
  EXPECT_EQ(ColorOf(style, kNaN), kNotANumberColor);
  EXPECT_NE(ColorOf(style, 0), kHiddenColor);
}

TEST(ColormapTest, PositionsFollowTheScale) {
  const ColorRange root(Style(Colormap::kBlues, ColorScale::kSqrt, 0, 0.4));
  EXPECT_DOUBLE_EQ(root.Position(0.1), 0.5);
  const ColorRange log(Style(Colormap::kBlues, ColorScale::kLog, 0.01, 1));
  EXPECT_DOUBLE_EQ(log.Position(0.1), 0.5);
  EXPECT_EQ(log.Position(0), 0);
  EXPECT_EQ(root.Position(7), 1);
  EXPECT_EQ(root.Position(-7), 0);
  // Without a lower end above zero: three decades, and they are stated.
  const ColorRange open(Style(Colormap::kBlues, ColorScale::kLog, 0, 1));
  EXPECT_EQ(open.Describe(), "logarithmic scale, 0.001 to 1");
  EXPECT_TRUE(std::isnan(open.Position(kNaN)));
}

TEST(ColormapTest, RangesThatAreNoneAreRefused) {
  const auto refused = [](double vmin, double vmax, ColorScale scale) {
    try {
      ColorOf(Style(Colormap::kBlues, scale, vmin, vmax), 0);
      return std::string("accepted");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kArgument);
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refused(1, 0, ColorScale::kLinear),
              HasSubstr("vmin 1 is not below vmax 0"));
  EXPECT_NE(refused(0.5, 0.5, ColorScale::kLinear), "accepted");
  EXPECT_NE(refused(kNaN, 1, ColorScale::kLinear), "accepted");
  EXPECT_NE(refused(0, kInfinity, ColorScale::kSqrt), "accepted");
  EXPECT_THAT(refused(-2, -1, ColorScale::kLog), HasSubstr("logarithmic"));
  EXPECT_EQ(refused(-2, -1, ColorScale::kSqrt), "accepted");
}

TEST(ColormapTest, TicksAreRoundAndIncludeTheEnds) {
  const auto ticks = [](ColorScale scale, double vmin, double vmax,
                        double spacing) {
    std::vector<std::string> texts;
    for (const double tick :
         ColorRange(Style(Colormap::kBlues, scale, vmin, vmax))
             .Ticks(spacing)) {
      texts.push_back(ShortNumber(tick));
    }
    return texts;
  };
  EXPECT_THAT(ticks(ColorScale::kLinear, 0, 0.4, 0.2),
              ElementsAre("0", "0.1", "0.2", "0.3", "0.4"));
  EXPECT_THAT(ticks(ColorScale::kLinear, -1, 1, 0.25),
              ElementsAre("-1", "-0.5", "0", "0.5", "1"));
  EXPECT_THAT(ticks(ColorScale::kLog, 0, 1, 0.3),
              ElementsAre("0.001", "0.01", "0.1", "1"));
  EXPECT_THAT(ticks(ColorScale::kSqrt, 0, 1, 0.2),
              ElementsAre("0", "0.1", "0.5", "1"));
  EXPECT_THAT(ticks(ColorScale::kSqrt, -4, -1, 0.2),
              ElementsAre("-4", "-3", "-1"));
}

TEST(ColormapTest, TextStandsOutOnEveryColour) {
  for (const Colormap colormap :
       {Colormap::kBlues, Colormap::kViridis, Colormap::kCividis}) {
    const ColorRange range(Style(colormap));
    for (int i = 0; i < 256; ++i) {
      const Rgb ground = range.AtPosition(i / 255.0);
      const double a = Luminance(ground) + 0.05;
      const double b = Luminance(TextColorOn(ground)) + 0.05;
      EXPECT_GE(std::max(a, b) / std::min(a, b), 4.5);  // WCAG 2, level AA
    }
  }
}

}  // namespace
}  // namespace regard::inline v0
