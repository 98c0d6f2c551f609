#include "cli/paint.h"

#include <algorithm>
#include <cmath>

#include "base/display_width.h"

namespace regard::inline v0 {

namespace {

constexpr char kReset[] = "\x1b[0m";

std::string Rgb24(const char* kind, Rgb c) {
  return std::string("\x1b[") + kind + ";2;" + std::to_string(c.r) + ";" +
         std::to_string(c.g) + ";" + std::to_string(c.b) + "m";
}

// ITU-R BT.601 luma, 0 to 255.
double Luma(Rgb c) { return 0.299 * c.r + 0.587 * c.g + 0.114 * c.b; }

}  // namespace

std::string OnBackground(std::string_view text, Rgb background, bool color) {
  if (!color) return std::string(text);
  constexpr double kMiddle = 140;  // slightly in favour of white text
  const Rgb ink =
      Luma(background) > kMiddle ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
  return Rgb24("48", background) + Rgb24("38", ink) + std::string(text) +
         kReset;
}

std::string Bold(std::string_view text, bool color) {
  return color ? "\x1b[1m" + std::string(text) + kReset : std::string(text);
}

std::string Dim(std::string_view text, bool color) {
  return color ? "\x1b[2m" + std::string(text) + kReset : std::string(text);
}

std::string Hundredths(double weight, int width) {
  return PadLeft(
      std::isfinite(weight) ? std::to_string(std::lround(weight * 100)) : "nan",
      width);
}

std::string Bar(double share, int columns) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0;
  const int eighths = static_cast<int>(std::lround(clamped * columns * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return PadRight(bar + kEighths[eighths % 8], columns);
}

}  // namespace regard::inline v0
