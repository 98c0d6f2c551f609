#include "render/cairo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstring>

#include "render/colormap.h"
#include "render/format_list.h"
#include "render/png.h"
#include "render/test_maps.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Decoded {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;
  std::map<std::string, std::string> text;
  double dpi = 0;

  Rgb At(int64_t x, int64_t y) const {
    const uint8_t* p = &rgb[static_cast<size_t>(3 * (y * width + x))];
    return {p[0], p[1], p[2]};
  }
};

// By libpng, which checks every chunk.
Decoded Decode(const std::string& bytes) {
  Decoded out;
  png_structp png = png_create_read_struct(
      PNG_LIBPNG_VER_STRING, nullptr,
      [](png_structp, png_const_charp message) {
        throw std::runtime_error(message);
      },
      nullptr);
  png_infop info = png_create_info_struct(png);
  std::string_view rest = bytes;
  png_set_read_fn(png, &rest, [](png_structp p, png_bytep to, size_t size) {
    auto& from = *static_cast<std::string_view*>(png_get_io_ptr(p));
    if (size > from.size()) throw std::runtime_error("cut off");
    std::memcpy(to, from.data(), size);
    from.remove_prefix(size);
  });
  png_read_info(png, info);
  out.width = png_get_image_width(png, info);
  out.height = png_get_image_height(png, info);
  out.dpi = png_get_x_pixels_per_meter(png, info) * 0.0254;
  out.rgb.resize(static_cast<size_t>(3 * out.width * out.height));
  for (int64_t y = 0; y < out.height; ++y) {
    png_read_row(png, &out.rgb[static_cast<size_t>(3 * out.width * y)],
                 nullptr);
  }
  png_read_end(png, info);
  png_textp texts = nullptr;
  const int count = png_get_text(png, info, &texts, nullptr);
  for (int i = 0; i < count; ++i) {
    out.text[texts[i].key] = std::string(texts[i].text, texts[i].itxt_length);
  }
  png_destroy_read_struct(&png, &info, nullptr);
  EXPECT_TRUE(rest.empty());
  return out;
}

TEST(PngTest, PixelsAndTextComeBack) {
  const auto row = [](int64_t i, uint8_t* rgb) {
    for (int j = 0; j < 3 * 100; ++j) {
      rgb[j] = static_cast<uint8_t>(i < 50 ? i * j : 7);
    }
  };
  const Decoded decoded = Decode(EncodePng(
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
  const Decoded at72 = Decode(HeatMapPng(map, style, options));
  EXPECT_EQ(at72.width, std::lround(std::ceil(scene.width)));
  EXPECT_EQ(at72.height, std::lround(std::ceil(scene.height)));
  EXPECT_EQ(at72.text.at("model"), "all-minilm-l6-v2");
  EXPECT_EQ(at72.text.at("Title"), "Title");
  options.dpi = 144;
  EXPECT_NEAR(
      static_cast<double>(Decode(HeatMapPng(map, style, options)).width),
      2 * scene.width, 1);
}

TEST(CairoTest, EveryCellHasItsColour) {
  const Tensor weights = TestWeights(6, 9);
  const HeatMap map{.values = weights};
  const Decoded picture = Decode(HeatMapPng(map, {}));
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

TEST(CairoTest, HostileLabelsAreDrawn) {
  const auto labels = HostileLabels();
  const auto size = static_cast<int64_t>(labels.size());
  const Tensor weights = TestWeights(size, size);
  PictureOptions options;
  options.dpi = 50;
  EXPECT_GT(Decode(HeatMapPng({.values = weights,
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
  EXPECT_THAT(message, HasSubstr(" pixels at 3000 dpi"));
  EXPECT_THAT(message, HasSubstr("choose a lower dpi"));
  EXPECT_EQ(refusal(0).first, ErrorKind::kArgument);
  EXPECT_EQ(refusal(-300).first, ErrorKind::kArgument);
  EXPECT_EQ(refusal(std::numeric_limits<double>::infinity()).first,
            ErrorKind::kArgument);
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
