#include "render/cairo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "render/colormap.h"
#include "render/format_list.h"
#include "render/png.h"
#include "render/test_maps.h"
#include "render/test_png.h"

namespace regard::inline v0 {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PngTest, PixelsAndTextComeBack) {
  const auto row = [](int64_t i, uint8_t* rgb) {
    for (int j = 0; j < 3 * 100; ++j) {
      rgb[j] = static_cast<uint8_t>(i < 50 ? i * j : 7);
    }
  };
  const DecodedPng decoded = DecodePng(EncodePng(
      100, 80, row, 300,
      {{"model", "M é 東"}, {"a\nb", "broken \xFF"}, {"", "no name"}}));
  EXPECT_EQ(decoded.width, 100);
  EXPECT_EQ(decoded.height, 80);
  for (int64_t i = 0; i < 80; ++i) {
    uint8_t wanted[300];
    row(i, wanted);
    ASSERT_EQ(
        std::memcmp(&decoded.rgb[static_cast<size_t>(300 * i)], wanted, 300), 0)
        << i;
  }
  EXPECT_NEAR(decoded.dpi, 300, 0.01);
  EXPECT_EQ(decoded.text.at("model"), "M é 東");
  EXPECT_EQ(decoded.text.at("a_b"), "broken \uFFFD");
  EXPECT_EQ(decoded.text.at("text"), "no name");
}

TEST(CairoTest, SizeFollowsDpiAndProvenanceIsInside) {
  const Tensor weights = TestWeights(6, 6);
  const HeatMap map{.values = weights};
  HeatMapStyle style;
  style.title = "Title";
  PictureOptions options;
  options.dpi = 72;
  options.provenance = {{"model", "all-minilm-l6-v2"}};
  const Scene scene = HeatMapScene(map, style);
  const DecodedPng at72 = DecodePng(HeatMapPng(map, style, options));
  EXPECT_EQ(at72.width, std::lround(std::ceil(scene.width)));
  EXPECT_EQ(at72.height, std::lround(std::ceil(scene.height)));
  EXPECT_EQ(at72.text.at("model"), "all-minilm-l6-v2");
  EXPECT_EQ(at72.text.at("Title"), "Title");
  options.dpi = 144;
  EXPECT_NEAR(
      static_cast<double>(DecodePng(HeatMapPng(map, style, options)).width),
      2 * scene.width, 1);
}

TEST(CairoTest, EveryCellHasItsColour) {
  const Tensor weights = TestWeights(6, 9);
  const HeatMap map{.values = weights};
  const DecodedPng picture = DecodePng(HeatMapPng(map, {}));
  const Scene scene = HeatMapScene(map, {});
  const auto& cells = std::get<CellsItem>(*std::find_if(
      scene.items.begin(), scene.items.end(), [](const SceneItem& item) {
        return std::holds_alternative<CellsItem>(item);
      }));
  const auto pixel = [](double points) {
    return static_cast<int64_t>(points * 300 / 72);
  };
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 9; ++j) {
      const double x =
          cells.x + cells.cell_width * (static_cast<double>(j) + 0.5);
      const double y =
          cells.y + cells.cell_height * (static_cast<double>(i) + 0.5);
      EXPECT_EQ(
          picture.At(pixel(x), pixel(y)),
          ColorOf({}, static_cast<double>(weights.As<float>()[9 * i + j])))
          << i << ' ' << j;
    }
  }
}

TEST(CairoTest, SameInputSameBytes) {
  const Tensor weights = TestWeights(8, 8);
  const HeatMap map{.values = weights,
                    .row_labels = std::vector<std::string>(8, "東 é שלום")};
  EXPECT_EQ(HeatMapPng(map, {}), HeatMapPng(map, {}));
}

TEST(CairoTest, LinesRunFromLeftToRightWhateverTheirLetters) {
  const Tensor weights = TestWeights(2, 2);
  const auto pixels = [&](const std::string& title) {
    HeatMapStyle style;
    style.title = title;
    return DecodePng(HeatMapPng({.values = weights}, style)).rgb;
  };
  EXPECT_EQ(pixels("\u05E2!"), pixels("\u200E\u05E2!"));
}

TEST(CairoTest, HostileLabelsAreDrawn) {
  const auto labels = HostileLabels();
  const auto size = static_cast<int64_t>(labels.size());
  const Tensor weights = TestWeights(size, size);
  PictureOptions options;
  options.dpi = 50;
  EXPECT_GT(DecodePng(HeatMapPng({.values = weights,
                                  .row_labels = labels,
                                  .column_labels = labels},
                                 {}, options))
                .width,
            100);
}

TEST(CairoTest, TooLargeIsRefusedWithItsSize) {
  const Tensor weights = TestWeights(6, 6);
  const auto refusal = [&](double dpi) {
    PictureOptions options;
    options.dpi = dpi;
    try {
      HeatMapPng({.values = weights}, {}, options);
    } catch (const Error& error) {
      return std::pair(error.kind(), std::string(error.what()));
    }
    return std::pair(ErrorKind::kMemory, std::string("drawn"));
  };
  const auto [kind, message] = refusal(3000);
  EXPECT_EQ(kind, ErrorKind::kSize);
  EXPECT_THAT(message,
              ContainsRegex("^png: [0-9]{5} x [0-9]{5} pixels at 3000"));
  EXPECT_EQ(refusal(1e300).first, ErrorKind::kSize);
  EXPECT_THAT(message, HasSubstr("choose a lower dpi"));
  EXPECT_EQ(refusal(0).first, ErrorKind::kArgument);
  EXPECT_EQ(refusal(-300).first, ErrorKind::kArgument);
  EXPECT_EQ(refusal(std::numeric_limits<double>::infinity()).first,
            ErrorKind::kArgument);
}

TEST(CairoTest, MoreColumnsThanASurfaceHoldsAreRefused) {
  const Tensor weights(DType::kF32, {1, 40000});
  PictureOptions options;
  options.dpi = 40;  // few pixels: it is the cells that are too many
  try {
    HeatMapPng({.values = weights}, {}, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kSize);
    EXPECT_THAT(error.what(), HasSubstr("1 x 40000 cells"));
  }
}

TEST(FormatListTest, EveryFormatWritesMapsAndGrids) {
  const Tensor weights = TestWeights(4, 4);
  PictureOptions options;
  options.dpi = 40;
  for (const std::string& name : PictureFormats()) {
    EXPECT_FALSE(
        HeatMapPicture(name, {.values = weights}, {}, options).empty());
    EXPECT_FALSE(GridPicture(name, {.maps = {weights}}, {}, options).empty());
  }
  EXPECT_THAT(HeatMapPicture("svg", {.values = weights}, {}),
              StartsWith("<svg "));
  EXPECT_THAT(GridPicture("png", {.maps = {weights}}, {}, options),
              StartsWith("\x89PNG"));
  try {
    HeatMapPicture("bmp", {.values = weights}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("svg, png"));
  }
}

}  // namespace
}  // namespace regard::inline v0
