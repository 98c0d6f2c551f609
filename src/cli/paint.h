// Coloured text in the terminal.
#ifndef REGARD_SRC_CLI_PAINT_H_
#define REGARD_SRC_CLI_PAINT_H_

#include <string>
#include <string_view>

#include "regard/render.h"

namespace regard::inline v0 {

// `text` on a background, in black or white, whichever reads better (24-bit
// ANSI); unchanged when `color` is false.
std::string OnBackground(std::string_view text, Rgb background, bool color);
// Bold and dim; unchanged when `color` is false.
std::string Bold(std::string_view text, bool color);
std::string Dim(std::string_view text, bool color);

// A weight from 0 to 1 as hundredths in `width` columns ("  7"), "nan" for NaN.
std::string Hundredths(double weight, int width);

// A bar of `columns` for `share` (0 to 1), in eighths of a column, padded with
// spaces.
std::string Bar(double share, int columns);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_PAINT_H_
