#include "render/colormap.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace regard::inline v0 {

namespace {

#include "render/colormap_tables.inc"

// "Blues" of ColorBrewer 2.0 with nine classes (Cynthia Brewer, Apache-2.0),
// here with straight lines between them in sRGB.
constexpr std::string_view kBlues =
    "f7fbffdeebf7c6dbef9ecae16baed64292c62171b508519c08306b";

uint8_t HexByte(std::string_view digits) {
  uint8_t value = 0;
  std::from_chars(digits.data(), digits.data() + 2, value, 16);
  return value;
}

// The table at `position` from 0 to 1, linear between its entries.
Rgb Interpolated(std::string_view table, double position) {
  const size_t last = table.size() / 6 - 1;
  const double place = position * static_cast<double>(last);
  const size_t below = std::min(static_cast<size_t>(place), last - 1);
  const double part = place - static_cast<double>(below);
  const auto channel = [&](size_t i) {
    const double a = HexByte(table.substr(6 * below + 2 * i, 2));
    const double b = HexByte(table.substr(6 * below + 6 + 2 * i, 2));
    return static_cast<uint8_t>(std::lround(a + part * (b - a)));
  };
  return {channel(0), channel(1), channel(2)};
}

std::string_view TableOf(Colormap colormap) {
  switch (colormap) {
    case Colormap::kViridis:
      return kViridis;
    case Colormap::kCividis:
      return kCividis;
    case Colormap::kBlues:
      break;
  }
  return kBlues;
}

// Multiples of the smallest of 1, 2, 5, 10, ... x 10^n that are at least
// `spacing` of the range apart.
std::vector<double> EvenValues(double low, double high, double spacing) {
  const double least = std::max(spacing, 0.02) * (high - low);
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double part : {1.0, 2.0, 5.0, 10.0}) {
    if (step * part < least * (1 - 1e-9)) continue;
    step *= part;
    break;
  }
  std::vector<double> values;
  for (double i = std::ceil(low / step); i * step < high; ++i) {
    values.push_back(i * step);
  }
  return values;
}

// 1, 5 and 2 x 10^n below `high`, the roundest first.
std::vector<double> DecadeValues(double high) {
  const double top = std::pow(10, std::floor(std::log10(high)));
  std::vector<double> values;
  for (const double digit : {1.0, 5.0, 2.0}) {
    for (int decade = 0; decade > -9; --decade) {
      values.push_back(digit * top * std::pow(10, decade));
    }
  }
  return values;
}

}  // namespace

ColorRange::ColorRange(const HeatMapStyle& style)
    : scale_(style.scale), low_(style.vmin), high_(style.vmax) {
  if (!std::isfinite(low_) || !std::isfinite(high_) || !(low_ < high_)) {
    throw Error(ErrorKind::kArgument, "colour range",
                "vmin " + ShortNumber(low_) + " is not below vmax " +
                    ShortNumber(high_),
                "give two finite numbers, the smaller one first");
  }
  if (scale_ == ColorScale::kLog) {
    if (!(high_ > 0)) {
      throw Error(ErrorKind::kArgument, "colour range",
                  "a logarithmic scale up to " + ShortNumber(high_),
                  "choose a vmax above 0 or another scale");
    }
    if (!(low_ > 0)) low_ = high_ / 1000;
  }
  for (size_t i = 0; i < table_.size(); ++i) {
    table_[i] =
        Interpolated(TableOf(style.colormap), static_cast<double>(i) / 255);
  }
}

double ColorRange::Position(double value) const {
  if (std::isnan(value)) return value;
  if (value <= low_) return 0;
  if (value >= high_) return 1;
  if (scale_ == ColorScale::kLog) {
    return std::log(value / low_) / std::log(high_ / low_);
  }
  const double part = (value - low_) / (high_ - low_);
  return scale_ == ColorScale::kSqrt ? std::sqrt(part) : part;
}

Rgb ColorRange::AtPosition(double position) const {
  if (std::isnan(position)) return kNotANumberColor;
  return table_[static_cast<size_t>(
      std::lround(std::clamp(position, 0.0, 1.0) * 255))];
}

Rgb ColorRange::ColorOf(double value) const {
  return AtPosition(Position(value));
}

std::vector<double> ColorRange::Ticks(double spacing) const {
  const bool even = scale_ == ColorScale::kLinear || high_ <= 0;
  std::vector<double> ticks = {low_, high_};
  for (const double value :
       even ? EvenValues(low_, high_, spacing) : DecadeValues(high_)) {
    if (!(value > low_ && value < high_)) continue;
    const double position = Position(value);
    const bool free = std::all_of(ticks.begin(), ticks.end(), [&](double t) {
      return std::abs(Position(t) - position) >= 0.99 * spacing;
    });
    if (free) ticks.push_back(value);
  }
  std::sort(ticks.begin(), ticks.end());
  return ticks;
}

std::string ColorRange::Describe() const {
  const char* name = scale_ == ColorScale::kLinear ? "linear scale, "
                     : scale_ == ColorScale::kSqrt ? "square-root scale, "
                                                   : "logarithmic scale, ";
  return name + ShortNumber(low_) + " to " + ShortNumber(high_);
}

Rgb ColorOf(const HeatMapStyle& style, double value) {
  return ColorRange(style).ColorOf(value);
}

double Luminance(Rgb color) {
  const auto linear = [](uint8_t channel) {
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) +
         0.0722 * linear(color.b);
}

Rgb TextColorOn(Rgb background) {
  // Both contrasts, (L + 0.05) ratios, are equal at L = 0.179.
  return Luminance(background) > 0.179 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

std::string ShortNumber(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                 std::chars_format::general, 4);
  return std::string(buffer, end.ptr);
}

}  // namespace regard::inline v0
