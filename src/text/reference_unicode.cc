#include "text/reference_unicode.h"

#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <iterator>

#include "text/icu_normalizers.h"

namespace regard::inline v0::reference_unicode {

namespace {

struct CodeRange {
  char32_t first, last;  // inclusive
};

template <size_t N>
bool Contains(const CodeRange (&ranges)[N], char32_t c) {
  const CodeRange* it = std::partition_point(
      ranges, ranges + N, [c](const CodeRange& r) { return r.last < c; });
  return it != ranges + N && it->first <= c;
}

UChar32 Icu(char32_t c) { return static_cast<UChar32>(c); }

// Assigned in Unicode `major`.0 or before.
bool IsKnownTo(char32_t c, int major) {
  UVersionInfo age;
  u_charAge(Icu(c), age);
  return age[0] != 0 && (age[0] < major || (age[0] == major && age[1] == 0));
}

// The mask of the general category, 0 where the reference has none.
uint32_t CategoryMask(char32_t c) {
  const uint32_t mask = U_GET_GC_MASK(Icu(c));
  return IsKnownTo(c, 8) ? mask : 0;
}

struct LowercaseRange {
  char32_t first, last;
  int32_t shift;
};

// Mappings of Unicode 16 and 17, which ICU 72 lacks.
constexpr LowercaseRange kNewerLowercase[] = {
    {0x1C89, 0x1C89, 1},    {0xA7CB, 0xA7CB, 0x264 - 0xA7CB},
    {0xA7CC, 0xA7CC, 1},    {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},    {0xA7D4, 0xA7D4, 1},
    {0xA7DA, 0xA7DA, 1},    {0xA7DC, 0xA7DC, 0x19B - 0xA7DC},
    {0x10D50, 0x10D65, 32}, {0x16EA0, 0x16EB8, 27},
};

// Word characters of Unicode 16, which ICU 72 lacks.
constexpr CodeRange kNewerWordCharacters[] = {
    {0x0897, 0x0897},   {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},
    {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D40, 0x10D65},
    {0x10D69, 0x10D6D}, {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4},
    {0x10EFC, 0x10EFC}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
    {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113C0},
    {0x113C2, 0x113C2}, {0x113C5, 0x113C5}, {0x113C7, 0x113CA},
    {0x113CC, 0x113D3}, {0x113E1, 0x113E2}, {0x116D0, 0x116E3},
    {0x11BC0, 0x11BE0}, {0x11BF0, 0x11BF9}, {0x11F5A, 0x11F5A},
    {0x13460, 0x143FA}, {0x16100, 0x16139}, {0x16D40, 0x16D6C},
    {0x16D70, 0x16D79}, {0x18CFF, 0x18CFF}, {0x1CCF0, 0x1CCF9},
    {0x1E5D0, 0x1E5FA}, {0x2EBF0, 0x2EE5D}};

constexpr CodeRange kCjkIdeographs[] = {
    {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},
    {0xF900, 0xFAFF},
    {0x20000, 0x2A6DF},
    {0x2A700, 0x2B73F},
    {0x2B740, 0x2B81F},
    // Extension E begins at U+2B820; the reference is off by 256.
    {0x2B920, 0x2CEAF},
    {0x2F800, 0x2FA1F},
};

}  // namespace

bool IsWhitespace(char32_t c) { return u_isUWhiteSpace(Icu(c)); }

bool IsControl(char32_t c) {
  if (c < 0x7F) return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
  return (CategoryMask(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

bool IsNonspacingMark(char32_t c) {
  if (c < 0x300) return false;
  switch (c) {
    case 0x1734:  // Mn before Unicode 14
      return true;
    case 0x1885:  // Mn since Unicode 9
    case 0x1886:
    case 0xA9BD:   // Mn since Unicode 11
    case 0x111C9:  // Mn since Unicode 11, punctuation before
      return false;
    default:
      return (CategoryMask(c) & U_GC_MN_MASK) != 0;
  }
}

bool IsPunctuation(char32_t c) {
  if (c < 0x80) return c > 0x20 && c < 0x7F && !u_isalnum(Icu(c));
  switch (c) {
    case 0x166D:   // So since Unicode 12
    case 0x111C9:  // Mn since Unicode 11
      return true;
    default:
      return (CategoryMask(c) & U_GC_P_MASK) != 0;
  }
}

bool IsCjkIdeograph(char32_t c) {
  return c >= 0x3400 && Contains(kCjkIdeographs, c);
}

bool IsWordCharacter(char32_t c) {
  constexpr uint32_t kMarksDigitsConnectors =
      U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return u_isUAlphabetic(Icu(c)) ||
         (U_GET_GC_MASK(Icu(c)) & kMarksDigitsConnectors) != 0 ||
         u_hasBinaryProperty(Icu(c), UCHAR_JOIN_CONTROL) ||
         Contains(kNewerWordCharacters, c);
}

void AppendLowercase(char32_t c, std::u32string* out) {
  if (c < 0x80) {
    out->push_back(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return;
  }
  if (c == 0x130) {  // the one unconditional mapping to two characters
    out->append(U"i\u0307");
    return;
  }
  for (const LowercaseRange& range : kNewerLowercase) {
    if (c < range.first || c > range.last) continue;
    out->push_back(
        static_cast<char32_t>(static_cast<int32_t>(c) + range.shift));
    return;
  }
  out->push_back(static_cast<char32_t>(u_tolower(Icu(c))));
}

void AppendDecomposition(char32_t c, std::u32string* out) {
  if (c < 0xC0) {
    out->push_back(c);
    return;
  }
  icu::UnicodeString parts;
  if (!NfdNormalizer().getDecomposition(Icu(c), parts) || !IsKnownTo(c, 9)) {
    out->push_back(c);
    return;
  }
  for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
    out->push_back(static_cast<char32_t>(parts.char32At(i)));
  }
}

uint8_t CombiningClass(char32_t c) {
  if (c < 0x300) return 0;
  const uint8_t value = u_getCombiningClass(Icu(c));
  return value != 0 && IsKnownTo(c, 9) ? value : 0;
}

}  // namespace regard::inline v0::reference_unicode
