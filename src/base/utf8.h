// Reading and writing UTF-8, one code point at a time.
#ifndef REGARD_SRC_BASE_UTF8_H_
#define REGARD_SRC_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace regard::inline v0 {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// The code point at `position`, which moves past it. Each maximal broken part
// (Unicode 15, table 3-8) reads as U+FFFD. `position` must be inside `text`.
char32_t NextCodePoint(std::string_view text, size_t& position);

// Appends `c`; what is no scalar value becomes U+FFFD.
void AppendUtf8(std::string& out, char32_t c);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_UTF8_H_
