#include "text/aligned_text.h"

#include "base/utf8.h"

namespace regard::inline v0 {

DecodedText Decode(std::string_view bytes) {
  constexpr std::string_view kReplacementBytes = "\xEF\xBF\xBD";
  DecodedText out;
  out.chars.reserve(bytes.size());
  size_t position = 0;
  while (position < bytes.size()) {
    const size_t begin = position;
    const char32_t c = NextCodePoint(bytes, position);
    if (c == kReplacementCharacter &&
        bytes.substr(begin, position - begin) != kReplacementBytes) {
      out.repaired = true;
    }
    out.chars.push_back(c);
  }
  return out;
}

std::string Encode(std::u32string_view chars) {
  std::string out;
  out.reserve(chars.size());
  for (const char32_t c : chars) AppendUtf8(out, c);
  return out;
}

}  // namespace regard::inline v0
