#include "cli/text_layout.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/display_width.h"

namespace regard::inline v0 {

std::string Wrapped(std::string_view text, int width, int indent) {
  std::string out;
  int column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int columns = DisplayWidth(word);
    if (column > indent && column + 1 + columns > width) {
      out += '\n';
      out.append(static_cast<size_t>(indent), ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
  }
  return out;
}

std::string WithCommas(int64_t number) {
  std::string digits = std::to_string(number);
  const int64_t first = number < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > first;
       at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string Counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string ByteSizeText(int64_t bytes) {
  if (bytes == 1) return "1 byte";
  constexpr std::array<const char*, 6> kUnits = {"bytes", "kB", "MB",
                                                 "GB",    "TB", "PB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 999.95 would print as 1000.0.
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s",
                value, kUnits[unit]);
  return text.data();
}

}  // namespace regard::inline v0
