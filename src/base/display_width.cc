#include "base/display_width.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/utf8.h"

namespace regard::inline v0 {

namespace {

struct CodePointRange {
  char32_t first, last;
};
#include "base/display_width_table.inc"

constexpr char32_t kJoiner = 0x200D;
constexpr char32_t kEmojiStyle = 0xFE0F;

bool Contains(std::span<const CodePointRange> ranges, char32_t c) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), c,
      [](char32_t value, const CodePointRange& r) { return value < r.first; });
  return after != ranges.begin() && c <= std::prev(after)->last;
}

bool IsRegionalIndicator(char32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }

bool MustBeEscaped(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) ||  // controls
         c == 0x200B || c == 0xFEFF || c == 0x2060 ||
         (c >= 0x2028 && c <= 0x202E) ||  // separators, bidi embeddings
         (c >= 0x2066 && c <= 0x206F) ||  // bidi isolates, deprecated formats
         (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF);
}

void AppendHex(std::string& out, char32_t c, int digits) {
  static constexpr char kHex[] = "0123456789abcdef";
  while (digits < 6 && c >> (4 * digits) != 0) ++digits;
  for (int i = digits - 1; i >= 0; --i) out += kHex[c >> (4 * i) & 15];
}

void AppendEscaped(std::string& out, char32_t c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x100) {
    out += "\\x";
    AppendHex(out, c, 2);
  } else {
    out += "\\u{";
    AppendHex(out, c, 4);
    out += '}';
  }
}

// Hebrew, Arabic, Syriac, Thaana, N'Ko, ... and the forms of presentation.
bool IsRightToLeft(char32_t c) {
  return (c >= 0x590 && c <= 0x8FF) || (c >= 0xFB1D && c <= 0xFDFF) ||
         (c >= 0xFE70 && c <= 0xFEFE) || (c >= 0x10800 && c <= 0x10FFF) ||
         (c >= 0x1E800 && c <= 0x1EFFF);
}

}  // namespace

int DisplayWidth(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return 0;
  if (c < 0x300) return 1;
  if (Contains(kZeroWidth, c)) return 0;
  return Contains(kWide, c) ? 2 : 1;
}

int DisplayWidth(std::string_view text) {
  int columns = 0;
  int previous = 0;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = NextCodePoint(text, i);
    const int width = c == kEmojiStyle && previous == 1 ? 1 : DisplayWidth(c);
    columns += width;
    previous = width;
  }
  return columns;
}

std::string VisibleText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const char32_t c = NextCodePoint(text, i);
    if (MustBeEscaped(c)) {
      AppendEscaped(out, c);
    } else {
      AppendUtf8(out, c);
    }
  }
  return out;
}

size_t ClusterEnd(std::string_view text, size_t begin) {
  size_t end = begin;
  char32_t previous = NextCodePoint(text, end);
  const bool flag = IsRegionalIndicator(previous);
  int parts = 1;
  for (size_t next = end; next < text.size(); end = next) {
    const char32_t c = NextCodePoint(text, next);
    const bool second_of_flag = flag && parts == 1 && IsRegionalIndicator(c);
    const bool skin_tone = c >= 0x1F3FB && c <= 0x1F3FF;
    if (DisplayWidth(c) != 0 && previous != kJoiner && !second_of_flag &&
        !skin_tone) {
      break;
    }
    if (DisplayWidth(c) != 0) ++parts;
    previous = c;
  }
  return end;
}

std::string CutToWidth(std::string_view text, int columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  if (columns < 1) return "";
  size_t kept = 0;
  while (kept < text.size()) {
    const size_t end = ClusterEnd(text, kept);
    if (DisplayWidth(text.substr(0, end)) > columns - 1) break;
    kept = end;
  }
  return std::string(text.substr(0, kept)) + "…";
}

std::string WithLeftToRightEnd(std::string_view text) {
  constexpr std::string_view kMark = "\u200E";
  size_t end = 0;
  for (size_t i = 0; i < text.size();) {
    if (IsRightToLeft(NextCodePoint(text, i))) end = i;
  }
  std::string out(text);
  if (end == 0 || end == text.size()) return out;
  if (!text.substr(end).starts_with(kMark)) out.insert(end, kMark);
  return out;
}

std::string PadRight(std::string_view text, int columns) {
  const int missing = std::max(0, columns - DisplayWidth(text));
  return std::string(text) + std::string(static_cast<size_t>(missing), ' ');
}

std::string PadLeft(std::string_view text, int columns) {
  const int missing = std::max(0, columns - DisplayWidth(text));
  return std::string(static_cast<size_t>(missing), ' ') + std::string(text);
}

}  // namespace regard::inline v0
