// Our own PNG encoder over zlib: true colour, eight bits, text chunks.
#ifndef REGARD_SRC_RENDER_PNG_H_
#define REGARD_SRC_RENDER_PNG_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "regard/render.h"

namespace regard::inline v0 {

// Puts the 3 * width bytes (r, g, b) of one row at `rgb`. Called once a row,
// from the top.
using PngRow = std::function<void(int64_t row, uint8_t* rgb)>;

// `text` becomes one iTXt chunk each (UTF-8), `dpi` a pHYs chunk. Neither dates
// nor versions of libraries are written.
std::string EncodePng(int64_t width, int64_t height, const PngRow& row,
                      std::optional<double> dpi = std::nullopt,
                      const Provenance& text = {});

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_PNG_H_
