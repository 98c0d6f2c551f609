// Reading PNG files back in the tests of this folder.
#ifndef REGARD_SRC_RENDER_TEST_PNG_H_
#define REGARD_SRC_RENDER_TEST_PNG_H_

#include <png.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "regard/render.h"

namespace regard::inline v0 {

struct DecodedPng {
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
inline DecodedPng DecodePng(const std::string& bytes) {
  DecodedPng out;
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
  if (!rest.empty()) throw std::runtime_error("bytes after the end");
  return out;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_TEST_PNG_H_
