// UTF-8, one code point at a time.
#ifndef REGARD_SRC_IO_UTF8_H_
#define REGARD_SRC_IO_UTF8_H_

#include <cstddef>
#include <string_view>

namespace regard::inline v0 {

struct Utf8Char {
  char32_t code_point;
  size_t length;  // bytes, at least 1
  bool valid;     // false: these bytes are a maximal broken part
};

inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// The first character of `text`, which must not be empty.
inline Utf8Char DecodeUtf8(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {0xFFFD, 1, false};
  // The second byte excludes overlong forms, surrogates and what is beyond
  // U+10FFFF (Unicode, table 3-7).
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return {0xFFFD, 1, false};
  char32_t code = first & (0x7Fu >> length);
  code = code << 6 | (byte(1) & 0x3F);
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0xFFFD, i, false};
    code = code << 6 | (byte(i) & 0x3F);
  }
  return {code, length, true};
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_UTF8_H_
