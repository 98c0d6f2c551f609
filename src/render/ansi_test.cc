#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "base/display_width.h"
#include "regard/render.h"
#include "render/test_maps.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Without the colour codes that this writer uses.
std::string WithoutCodes(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(AnsiTest, SmallMapExactly) {
  const float values[] = {1, 0, 0, 0.254f, 0.746f, 0, 0.004f, 0.006f, 0.99f};
  const Tensor hidden = AboveDiagonal(3);
  const HeatMap map{.values = TensorView(values, {3, 3}),
                    .row_labels = {"[CLS]", "it", "東京"},
                    .grey_rows = {true, false, false},
                    .marked_rows = Mark{1},
                    .marked_columns = Mark{0},
                    .hidden = hidden};
  HeatMapStyle style;
  style.title = "L0H0";
  style.note = "A note.";
  EXPECT_EQ(HeatMapText(map, style, {.width = 50}),
            "L0H0\n"
            "            v\n"
            "           @0 @1 @2\n"
            " @0 [CLS] 100\n"
            ">@1 it     25 75\n"
            " @2 東京    ·  1 99\n"
            "Rows: query position; columns: key/value position.\n"
            "Numbers are hundredths, · is less than half of\n"
            "one. Blank: hidden by the mask.\n"
            "A note.\n");
  EXPECT_EQ(HeatMapText(map, style, {.width = 50, .compact = true}),
            "            v\n"
            "           @0 @1 @2\n"
            " @0 [CLS] 100\n"
            ">@1 it     25 75\n"
            " @2 東京    ·  1 99\n");
}

TEST(AnsiTest, MarksOfSeveralRowsAndColumns) {
  const Tensor weights = TestWeights(4, 4);
  const HeatMap map{.values = weights,
                    .marked_rows = Mark{1, 2},
                    .marked_columns = Mark{2, 2}};
  const auto lines = Lines(HeatMapText(map, {}, {}));
  EXPECT_EQ(lines[0], "            v  v");
  EXPECT_EQ(lines[2][0], ' ');
  EXPECT_EQ(lines[3][0], '>');
  EXPECT_EQ(lines[4][0], '>');
  EXPECT_EQ(lines[5][0], ' ');
}

TEST(AnsiTest, PositionsOfTheTextWhereRowsAreLeftOut) {
  const float values[] = {1, 0, 0.5f, 0.5f};
  HeatMap map{.values = TensorView(values, {2, 2}),
              .row_labels = {"a", "b"},
              .positions = {1, 12}};
  EXPECT_EQ(HeatMapText(map, {}, {.width = 50, .compact = true}),
            "       @1@12\n"
            "@1  a 100  ·\n"
            "@12 b  50 50\n");
  map.positions = {9, 110};
  EXPECT_EQ(HeatMapText(map, {}, {.width = 50, .compact = true}),
            "     @      1\n"
            "            1\n"
            "         9  0\n"
            "@9   a 100  ·\n"
            "@110 b  50 50\n");
  map.positions = {1};
  EXPECT_THROW(HeatMapText(map, {}, {}), Error);
}

TEST(AnsiTest, NoLineIsWiderThanTheTerminal) {
  for (const int64_t size : {1, 2, 9, 22, 23, 24, 35, 36, 70, 71, 140, 512}) {
    const Tensor weights = TestWeights(std::min<int64_t>(size, 64), size);
    HeatMap map{.values = weights};
    for (int64_t i = 0; i < weights.dim(0); ++i) {
      map.row_labels.push_back(
          HostileLabels()[static_cast<size_t>(i) % HostileLabels().size()]);
    }
    HeatMapStyle style;
    style.title = "A title that is long enough to be broken into lines 東京";
    style.note = std::string(100, 'x');
    for (const int width : {0, 24, 40, 80, 81, 200}) {
      for (const bool color : {false, true}) {
        const std::string text =
            HeatMapText(map, style, {.width = width, .color = color});
        for (const std::string& line : Lines(WithoutCodes(text))) {
          ASSERT_LE(DisplayWidth(line), std::max(width, 24))
              << size << ' ' << width << '\n'
              << line;
        }
      }
    }
  }
}

TEST(AnsiTest, CellsAreAsWideAsFits) {
  const auto row = [](int64_t size) {
    const Tensor weights = TestWeights(size, size);
    const std::string text = HeatMapText({.values = weights}, {}, {});
    return Lines(text).back();
  };
  const auto legend = [](int64_t size) {
    const Tensor weights = TestWeights(size, size);
    const std::string text = HeatMapText({.values = weights}, {}, {});
    std::string joined;
    for (const std::string& line : Lines(text)) joined += line + ' ';
    return joined;
  };
  EXPECT_THAT(legend(23), HasSubstr("@21@22 "));
  EXPECT_THAT(legend(23), HasSubstr("Numbers are hundredths"));
  EXPECT_THAT(legend(24), Not(HasSubstr("@22@23")));
  EXPECT_THAT(legend(35), HasSubstr("99 also stands for more"));
  EXPECT_THAT(legend(36), HasSubstr("Digits are tenths"));
  EXPECT_THAT(legend(70), HasSubstr("Digits are tenths"));
  EXPECT_THAT(legend(70), Not(HasSubstr("largest of")));
  EXPECT_THAT(legend(71), HasSubstr("Each cell is the largest of 3 x 3"));
  EXPECT_FALSE(row(71).empty());
}

TEST(AnsiTest, NoColourMeansNoEscapeCodes) {
  const auto labels = HostileLabels();
  const auto size = static_cast<int64_t>(labels.size());
  const Tensor weights = TestWeights(size, size);
  const HeatMap map{.values = weights, .row_labels = labels};
  HeatMapStyle style;
  style.title = "\x1b[2J";
  style.note = "\x1b[2J\x07";
  EXPECT_THAT(HeatMapText(map, style, {.color = false}),
              Not(HasSubstr("\x1b")));
  // With colour, only the codes of this writer: no label drives the terminal.
  const std::string colored = HeatMapText(map, style, {.color = true});
  EXPECT_THAT(WithoutCodes(colored), Not(HasSubstr("\x1b")));
  EXPECT_THAT(colored, HasSubstr("\\x1b[2J"));
  EXPECT_THAT(colored, HasSubstr("\\x1b[31mred"));
}

TEST(AnsiTest, ColoursAreThoseOfTheScale) {
  const float values[] = {0, 1, 0.5f, std::numeric_limits<float>::quiet_NaN()};
  const HeatMap map{.values = TensorView(values, {2, 2})};
  const std::string text = HeatMapText(map, {}, {.color = true});
  EXPECT_THAT(text, HasSubstr("\x1b[48;2;8;48;107;38;2;255;255;255m100"));
  EXPECT_THAT(text, HasSubstr("\x1b[48;2;247;251;255;"));
  EXPECT_THAT(text, HasSubstr("\x1b[48;2;214;31;140;"));
  EXPECT_THAT(text, HasSubstr("NaN"));
  EXPECT_THAT(text, HasSubstr("linear scale, 0 to 1."));
}

TEST(AnsiTest, PooledBlocksKeepTheLargestAndTheMark) {
  Tensor weights(DType::kF32, {100, 100});
  weights.AsMutable<float>()[57 * 100 + 99] = 1;
  const HeatMap map{
      .values = weights, .marked_rows = Mark{57}, .marked_columns = Mark{99}};
  const auto lines = Lines(HeatMapText(map, {}, {}));
  // Blocks of 3: row block 19 is @57-59, column block 33 the last.
  size_t marked = 0;
  for (const std::string& line : lines) {
    if (!line.starts_with(">@57-59")) continue;
    ++marked;
    EXPECT_TRUE(line.ends_with("· 9")) << line;
  }
  EXPECT_EQ(marked, 1u);
  EXPECT_TRUE(lines[0].ends_with("v"));
}

TEST(AnsiTest, NumbersAfterRightToLeftLabelsKeepTheirOrder) {
  const float values[] = {0.25f, 0.75f};
  const HeatMap map{.values = TensorView(values, {1, 2}),
                    .row_labels = {"שלום"}};
  EXPECT_THAT(HeatMapText(map, {}, {}), HasSubstr("שלום\u200E  25 75\n"));
}

}  // namespace
}  // namespace regard::inline v0
