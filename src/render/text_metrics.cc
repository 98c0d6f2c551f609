#include "render/text_metrics.h"

#include <algorithm>

#include "base/display_width.h"
#include "base/utf8.h"

namespace regard::inline v0 {

namespace {

// Advance widths of U+0020 to U+007E in DejaVu Sans 2.37, the widest of the
// typefaces that a scene names, in hundredths of the font size.
constexpr unsigned char kLatinWidths[] = {
    32,  40, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 36, 32, 34,  //  !"#
    64,  64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53,  // 0123
    100, 68, 69, 70, 77, 63, 58, 78, 75, 30, 30, 66, 56, 86, 75, 79,  // @ABC
    60,  79, 70, 64, 61, 73, 68, 99, 68, 61, 68, 39, 34, 39, 84, 50,  // PQRS
    50,  61, 64, 55, 64, 62, 35, 64, 63, 28, 28, 58, 28, 97, 63, 61,  // `abc
    64,  64, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};     // pqrs

double Advance(char32_t c) {
  if (c >= 0x20 && c < 0x7F) return kLatinWidths[c - 0x20] / 100.0;
  switch (DisplayWidth(c)) {
    case 0:
      return 0;
    case 2:
      return c >= 0x1F000 && c < 0x20000 ? 1.3 : 1.0;  // emoji, ideographs
    default:
      return c < 0x250 ? 0.64 : 0.75;
  }
}

// Clusters as one unit: joined emoji take the place of one.
double ClusterAdvance(std::string_view cluster) {
  double widest = 0;
  for (size_t i = 0; i < cluster.size();) {
    widest = std::max(widest, Advance(NextCodePoint(cluster, i)));
  }
  return widest;
}

using Measure = std::function<double(std::string_view)>;

// The length in bytes of the longest beginning that measures at most `limit`.
size_t FittingBytes(std::string_view text, double limit, const Measure& width) {
  double used = 0;
  size_t kept = 0;
  while (kept < text.size()) {
    const size_t end = ClusterEnd(text, kept);
    used += width(text.substr(kept, end - kept));
    if (used > limit) break;
    kept = end;
  }
  return kept;
}

// Moves full lines from the front of `line` to `lines`.
void SplitLongWord(std::string& line, std::vector<std::string>& lines,
                   double limit, const Measure& width) {
  while (width(line) > limit) {
    const size_t bytes =
        std::max(FittingBytes(line, limit, width), ClusterEnd(line, 0));
    if (bytes == line.size()) return;
    lines.push_back(line.substr(0, bytes));
    line.erase(0, bytes);
  }
}

}  // namespace

double EstimatedWidth(std::string_view text, double size) {
  double width = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t end = ClusterEnd(text, i);
    width += ClusterAdvance(text.substr(i, end - i));
    i = end;
  }
  return width * size;
}

std::string CutToPoints(std::string_view text, double size, double width) {
  if (EstimatedWidth(text, size) <= width) return std::string(text);
  const size_t bytes = FittingBytes(
      text, width - size,
      [size](std::string_view part) { return EstimatedWidth(part, size); });
  return std::string(text.substr(0, bytes)) + "…";
}

std::vector<std::string> WrappedLines(std::string_view text, double limit,
                                      const Measure& width) {
  std::vector<std::string> lines;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) lines.push_back(line);
    line.clear();
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string word(text.substr(0, end));
    const bool newline = end < text.size() && text[end] == '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string longer =
        line.empty() || word.empty() ? line + word : line + ' ' + word;
    if (width(longer) > limit) {
      flush();
      line = word;
    } else {
      line = longer;
    }
    SplitLongWord(line, lines, limit, width);
    if (newline) flush();
  }
  flush();
  return lines;
}

std::vector<std::string> WrappedLines(std::string_view text, double size,
                                      double points) {
  return WrappedLines(text, points, [size](std::string_view part) {
    return EstimatedWidth(part, size);
  });
}

}  // namespace regard::inline v0
