// From a value to its colour, by the map, scale and range of a style.
#ifndef REGARD_SRC_RENDER_COLORMAP_H_
#define REGARD_SRC_RENDER_COLORMAP_H_

#include <array>
#include <string>
#include <vector>

#include "regard/render.h"

namespace regard::inline v0 {

// Colours that mean something else than a value on the scale.
inline constexpr Rgb kHiddenColor = {0xCF, 0xCF, 0xCF};
inline constexpr Rgb kNotANumberColor = {0xD6, 0x1F, 0x8C};
inline constexpr Rgb kOutsideColor = {0xF6, 0xF0, 0xDF};

class ColorRange {
 public:
  // Error (kArgument) unless vmin < vmax, both finite, and vmax > 0 for log.
  explicit ColorRange(const HeatMapStyle& style);

  // Place on the bar, from 0 to 1; outside the range its nearer end. NaN for
  // NaN.
  double Position(double value) const;
  Rgb AtPosition(double position) const;
  Rgb ColorOf(double value) const;

  double low() const { return low_; }
  double high() const { return high_; }
  // Values to print beside the bar, ascending, the ends included, no two nearer
  // than `spacing` on the bar.
  std::vector<double> Ticks(double spacing) const;
  // "linear scale, 0 to 0.4"
  std::string Describe() const;

 private:
  std::array<Rgb, 256> table_;
  ColorScale scale_;
  double low_, high_;
};

// WCAG 2 relative luminance, from 0 to 1.
double Luminance(Rgb color);
// Black or white, whichever reads better on `background`.
Rgb TextColorOn(Rgb background);

// "0.4", "1e-05": at most four significant digits, no locale.
std::string ShortNumber(double value);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_COLORMAP_H_
