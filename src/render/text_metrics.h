// Widths of text without a font engine: good enough to lay out, a little too
// wide rather than too narrow.
#ifndef REGARD_SRC_RENDER_TEXT_METRICS_H_
#define REGARD_SRC_RENDER_TEXT_METRICS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::inline v0 {

// Words in bold are wider by about this factor (DejaVu Sans).
inline constexpr double kBoldWidening = 1.16;

// Points that `text` takes at this font size.
double EstimatedWidth(std::string_view text, double size);

// The longest beginning that fits `width` points, with "…" when cut.
std::string CutToPoints(std::string_view text, double size, double width);

// Lines that `width` measures at most `limit`: broken at spaces and newlines,
// inside a word only when it is longer than a line. The width of a text must be
// the sum over its clusters (base/display_width.h).
std::vector<std::string> WrappedLines(
    std::string_view text, double limit,
    const std::function<double(std::string_view)>& width);

// The same in points at a font size.
std::vector<std::string> WrappedLines(std::string_view text, double size,
                                      double points);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_TEXT_METRICS_H_
