#include "render/svg.h"

#include <expat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/display_width.h"
#include "render/colormap.h"
#include "render/test_maps.h"
#include "render/test_png.h"

namespace regard::inline v0 {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Element {
  std::string name, parent;
  std::map<std::string, std::string> attributes;
  std::string text;  // its own, not that of its children
};

struct Parsed {
  std::vector<Element> elements;  // in document order
  std::vector<size_t> open;
  std::string error;

  std::vector<std::string> Texts(const std::string& name) const {
    std::vector<std::string> texts;
    for (const Element& e : elements) {
      if (e.name == name) texts.push_back(e.text);
    }
    return texts;
  }
};

Parsed Parse(const std::string& xml) {
  Parsed parsed;
  XML_Parser parser = XML_ParserCreate("UTF-8");
  XML_SetUserData(parser, &parsed);
  XML_SetElementHandler(
      parser,
      [](void* data, const XML_Char* name, const XML_Char** attributes) {
        auto& p = *static_cast<Parsed*>(data);
        Element e{
            name, p.open.empty() ? "" : p.elements[p.open.back()].name, {}, ""};
        for (; *attributes; attributes += 2) {
          e.attributes[attributes[0]] = attributes[1];
        }
        p.open.push_back(p.elements.size());
        p.elements.push_back(e);
      },
      [](void* data, const XML_Char*) {
        static_cast<Parsed*>(data)->open.pop_back();
      });
  XML_SetCharacterDataHandler(
      parser, [](void* data, const XML_Char* text, int size) {
        auto& p = *static_cast<Parsed*>(data);
        p.elements[p.open.back()].text.append(text, static_cast<size_t>(size));
      });
  if (XML_Parse(parser, xml.data(), static_cast<int>(xml.size()), 1) !=
      XML_STATUS_OK) {
    parsed.error = XML_ErrorString(XML_GetErrorCode(parser));
  }
  XML_ParserFree(parser);
  return parsed;
}

// Fill and place by hover text: "a → b: 0.5".
struct Cell {
  std::string fill, path;
};
std::map<std::string, Cell> Cells(const Parsed& parsed) {
  std::map<std::string, Cell> cells;
  for (size_t i = 1; i < parsed.elements.size(); ++i) {
    const Element& e = parsed.elements[i];
    if (e.name != "title" || e.parent != "path") continue;
    const Element& path = parsed.elements[i - 1];
    cells[e.text] = {path.attributes.at("fill"), path.attributes.at("d")};
  }
  return cells;
}

TEST(SvgTest, HostileTextIsEscapedOnceAndStaysXml) {
  const auto labels = HostileLabels();
  const auto size = static_cast<int64_t>(labels.size());
  const Tensor weights = TestWeights(size, size);
  HeatMap map{.values = weights, .row_labels = labels, .column_labels = labels};
  HeatMapStyle style;
  style.title = "a<b &amp; \"]]>\" \x01\xFF";
  style.note = "first <line>\nsecond & line";
  PictureOptions options;
  options.provenance = {{"text \"quoted\"", "x < y & \x02 \xED\xA0\x80"}};
  const Parsed parsed = Parse(HeatMapSvg(map, style, options));
  ASSERT_EQ(parsed.error, "");
  const auto texts = parsed.Texts("text");
  for (const std::string& label : labels) {
    EXPECT_THAT(texts, Contains(VisibleText(label)).Times(2)) << label;
  }
  EXPECT_THAT(texts, Contains("a<b &amp; \"]]>\" \\x01\uFFFD"));
  EXPECT_THAT(texts, Contains("first <line>"));
  EXPECT_THAT(texts, Contains("second & line"));
  const auto items = parsed.Texts("item");
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0], "x < y & \uFFFD \uFFFD\uFFFD\uFFFD");
}

TEST(SvgTest, SignsAfterRightToLeftPiecesKeepTheirPlace) {
  const Tensor weights = TestWeights(1, 2);
  const HeatMap map{.values = weights,
                    .row_labels = {"ע"},
                    .column_labels = {"##ל#1", "##ל#2"}};
  const auto texts = Parse(HeatMapSvg(map, {})).Texts("text");
  EXPECT_THAT(texts, Contains("##ל\u200E#1"));
  EXPECT_THAT(texts, Contains("ע"));
}

TEST(SvgTest, RowsAreQueriesRowZeroOnTopAndTheMaskIsGrey) {
  const float values[] = {1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25};
  const Tensor hidden = AboveDiagonal(3);
  HeatMap map{.values = TensorView(values, {3, 3}), .hidden = hidden};
  const Parsed parsed = Parse(HeatMapSvg(map, {}));
  const auto cells = Cells(parsed);
  ASSERT_EQ(cells.size(), 9u);
  // M column row: y grows downwards.
  EXPECT_THAT(cells.at("0 → 0: 1").path, StartsWith("M0 0h"));
  EXPECT_THAT(cells.at("2 → 0: 0.5").path, StartsWith("M0 2h"));
  EXPECT_THAT(cells.at("1 → 0: 0.25").path, StartsWith("M0 1h"));
  for (const char* hidden_cell :
       {"0 → 1: hidden", "0 → 2: hidden", "1 → 2: hidden"}) {
    EXPECT_EQ(cells.at(hidden_cell).fill, "#cfcfcf");
  }
  EXPECT_THAT(cells.at("0 → 2: hidden").path, StartsWith("M2 0h"));
  const auto texts = parsed.Texts("text");
  EXPECT_THAT(texts, Contains("hidden by the mask"));
  EXPECT_THAT(texts, Contains("query position"));
  EXPECT_THAT(texts, Contains("key/value position"));
  EXPECT_THAT(texts, Contains("Colour: linear scale, 0 to 1."));
}

TEST(SvgTest, NaNAndColumnsOutsideTheRangeHaveTheirOwnColours) {
  const float values[] = {0.9f, std::numeric_limits<float>::quiet_NaN(), 0.5f,
                          2.0f};
  HeatMap map{.values = TensorView(values, {2, 2}),
              .outside_range = {true, false}};
  const Parsed parsed = Parse(HeatMapSvg(map, {}));
  const auto cells = Cells(parsed);
  EXPECT_EQ(cells.at("0 → 1: not a number").fill, "#d61f8c");
  EXPECT_EQ(cells.at("0 → 0: 0.9").fill, "#f6f0df");
  EXPECT_EQ(cells.at("1 → 1: 2").fill, "#08306b");
  const auto texts = parsed.Texts("text");
  EXPECT_THAT(texts, Contains("not a number (1)"));
  EXPECT_THAT(texts, Contains("not in the colour range"));
  EXPECT_THAT(texts, Contains(HasSubstr("1 cell above 1 has")));
  EXPECT_THAT(texts, Contains("90"));  // its value, since no colour tells it
}

TEST(SvgTest, StridedAndContiguousMapsDrawTheSame) {
  const Tensor weights = TestWeights(5, 7);
  const Tensor copy = Tensor::CopyOf(weights.view().Transposed(0, 1));
  EXPECT_EQ(HeatMapSvg({.values = copy}, {}),
            HeatMapSvg({.values = weights.view().Transposed(0, 1)}, {}));
}

TEST(SvgTest, SameInputSameBytes) {
  const Tensor weights = TestWeights(16, 16);
  const HeatMap map{.values = weights};
  PictureOptions options;
  options.provenance = {{"model", "m"}, {"dtype", "f32"}};
  EXPECT_EQ(HeatMapSvg(map, {}, options), HeatMapSvg(map, {}, options));
}

TEST(SvgTest, LargeMapsLoseHoverThenBecomeImages) {
  const auto svg = [](int64_t size) {
    const Tensor weights = TestWeights(size, size);
    return HeatMapSvg({.values = weights}, {});
  };
  EXPECT_THAT(svg(63), HasSubstr("→ 62: "));
  const std::string paths = svg(64);
  EXPECT_THAT(paths, Not(HasSubstr("→ 62: ")));
  EXPECT_THAT(paths, Not(HasSubstr("<image")));
  EXPECT_THAT(svg(320), HasSubstr("<image"));
  EXPECT_THAT(svg(320), HasSubstr("data:image/png;base64,iVBORw0KGgo"));
  EXPECT_THAT(svg(320), HasSubstr("One in 5 positions is labelled."));
  EXPECT_EQ(Parse(svg(320)).error, "");
}

std::string FromBase64(const std::string& text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const char* digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<uint32_t>(std::strchr(digits, c) - digits);
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8));
  }
  return out;
}

TEST(SvgTest, EmbeddedImagesHoldEveryCell) {
  const Tensor weights = TestWeights(330, 320);
  HeatMapStyle style;
  style.vmax = 0.02;
  const Parsed parsed = Parse(HeatMapSvg({.values = weights}, style));
  const auto image =
      std::find_if(parsed.elements.begin(), parsed.elements.end(),
                   [](const Element& e) { return e.name == "image"; });
  ASSERT_NE(image, parsed.elements.end());
  const std::string& href = image->attributes.at("href");
  const std::string head = "data:image/png;base64,";
  ASSERT_EQ(href.substr(0, head.size()), head);
  const DecodedPng png = DecodePng(FromBase64(href.substr(head.size())));
  const int64_t pixels = png.width / 320;
  ASSERT_EQ(png.width, 320 * pixels);
  ASSERT_EQ(png.height, 330 * pixels);
  EXPECT_GT(pixels, 1);
  const ColorRange range(style);
  for (int64_t i = 0; i < png.height; ++i) {
    for (int64_t j = 0; j < png.width; ++j) {
      const float value = weights.As<float>()[i / pixels * 320 + j / pixels];
      ASSERT_EQ(png.At(j, i), range.ColorOf(static_cast<double>(value)));
    }
  }
}

TEST(SvgTest, TheMarkedPositionIsLabelledWhereOthersAreLeftOut) {
  const Tensor weights = TestWeights(200, 200);
  const HeatMap map{.values = weights,
                    .row_labels = std::vector<std::string>(200, "w"),
                    .marked_rows = Mark{101}};
  const auto texts = Parse(HeatMapSvg(map, {})).Texts("text");
  EXPECT_THAT(texts, Contains("@101 w"));
  EXPECT_THAT(texts, Contains("@95 w"));
  EXPECT_THAT(texts, Not(Contains("@100 w")));  // would touch
  EXPECT_THAT(texts, Not(Contains("@102 w")));
}

// Which cells of a matrix of `rows` x `columns` the paths of one picture
// colour, by following the pen.
std::vector<std::string> Painted(const Parsed& parsed, int rows, int columns) {
  std::vector<std::string> painted(static_cast<size_t>(rows * columns));
  for (const Element& e : parsed.elements) {
    if (e.name != "path" || !e.attributes.contains("fill") ||
        e.attributes.at("fill") == "none") {
      continue;
    }
    const std::string& d = e.attributes.at("d");
    int x = 0, y = 0;
    for (const char* p = d.c_str(); *p;) {
      int dx = 0, dy = 0, width = 0, back = 0, read = 0;
      const char kind = *p++;
      EXPECT_EQ(
          std::sscanf(p, "%d%dh%dv1h-%d%n", &dx, &dy, &width, &back, &read), 4)
          << p;
      EXPECT_EQ(width, back);
      x = kind == 'M' ? dx : x + dx;
      y = kind == 'M' ? dy : y + dy;
      for (int i = 0; i < width; ++i) {
        std::string& cell =
            painted.at(static_cast<size_t>(y * columns + x + i));
        EXPECT_EQ(cell, "") << x << ' ' << y;
        cell = e.attributes.at("fill");
      }
      y += 1;
      p += read;
    }
  }
  return painted;
}

TEST(SvgTest, RunsPaintEveryCellOnceInItsColour) {
  CellsItem cells{.cell_width = 2,
                  .cell_height = 2,
                  .rows = 40,
                  .columns = 50,
                  .ground = Rgb{9, 9, 9}};
  const Rgb colors[] = {{0, 0, 0}, {255, 0, 0}, {1, 2, 3}, {9, 9, 9}};
  for (int i = 0; i < 2000; ++i) cells.colors.push_back(colors[i * i / 7 % 4]);
  Scene scene;
  scene.items.push_back(cells);
  const auto painted = Painted(Parse(SceneToSvg(scene, {})), 40, 50);
  const std::map<uint8_t, std::string> names = {
      {0, "#000"}, {255, "#f00"}, {1, "#010203"}, {9, ""}};
  for (size_t i = 0; i < painted.size(); ++i) {
    EXPECT_EQ(painted[i], names.at(cells.colors[i].r)) << i;
  }
}

TEST(SvgTest, GridNamesItsMapsRowsAndColumns) {
  std::vector<Tensor> tensors;
  MapGrid grid{.columns = 3,
               .row_titles = {"L0", "L1"},
               .column_titles = {"H0", "H1", "H2"}};
  for (int i = 0; i < 6; ++i) {
    tensors.push_back(TestWeights(8, 8));
    grid.titles.push_back("L" + std::to_string(i / 3) + "H" +
                          std::to_string(i % 3));
  }
  for (const Tensor& tensor : tensors) grid.maps.push_back(tensor);
  HeatMapStyle style;
  style.scale = ColorScale::kSqrt;
  const Parsed parsed = Parse(GridSvg(grid, style));
  ASSERT_EQ(parsed.error, "");
  EXPECT_THAT(parsed.Texts("text"), Contains("H2"));
  EXPECT_THAT(parsed.Texts("text"), Contains("L1"));
  EXPECT_THAT(parsed.Texts("title"), Contains("L1H2"));
  EXPECT_THAT(parsed.Texts("text"),
              Contains(StartsWith("Colour: square-root scale, 0 to 1.")));
  // 72 maps of 38 tokens are more than 100,000 cells.
  std::vector<Tensor> many(72);
  grid = {.columns = 12};
  for (Tensor& tensor : many) {
    tensor = TestWeights(38, 38);
    grid.maps.push_back(tensor);
  }
  EXPECT_THAT(GridSvg(grid, style), HasSubstr("<image"));
}

TEST(SvgTest, ShapesThatDisagreeAreRefused) {
  const Tensor weights = TestWeights(3, 4);
  const auto refusal = [&](const HeatMap& map) {
    try {
      HeatMapSvg(map, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kArgument);
      return std::string(error.what());
    }
    return std::string("drawn");
  };
  EXPECT_EQ(refusal({.values = weights}), "drawn");
  EXPECT_THAT(refusal({.values = weights, .row_labels = {"a"}}),
              HasSubstr("row_labels: 1 given for 3"));
  EXPECT_THAT(refusal({.values = weights, .marked_columns = Mark{4}}),
              HasSubstr("marked_columns: 4 is not below 4"));
  EXPECT_THAT(refusal({.values = weights, .marked_rows = Mark{1, 3}}),
              HasSubstr("marked_rows: 3 from 1 on are not within 3"));
  const Tensor hidden = AboveDiagonal(3);
  EXPECT_THAT(refusal({.values = weights, .hidden = hidden}),
              HasSubstr("hidden: bool [3, 3] beside values [3, 4]"));
  EXPECT_THAT(refusal({}), HasSubstr("no matrix with cells"));
  const Tensor empty(DType::kF32, {0, 4});
  EXPECT_THAT(refusal({.values = empty}), HasSubstr("[0, 4]"));
  EXPECT_THROW(GridSvg({}, {}), Error);
}

}  // namespace
}  // namespace regard::inline v0
