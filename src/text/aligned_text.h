// A text on its way through a tokenizer: its characters, and where each of them
// comes from.
#ifndef REGARD_SRC_TEXT_ALIGNED_TEXT_H_
#define REGARD_SRC_TEXT_ALIGNED_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regard::inline v0 {

// Every character of `chars` comes from exactly one code point of the original
// text, `origin` of the same index; origins never decrease.
struct AlignedText {
  std::u32string chars;
  std::vector<int64_t> origin;

  size_t size() const { return chars.size(); }
  void Append(char32_t c, int64_t from) {
    chars.push_back(c);
    origin.push_back(from);
  }
};

// Characters [begin, end) of an AlignedText.
struct CharRange {
  size_t begin = 0, end = 0;
};

struct DecodedText {
  std::u32string chars;
  bool repaired = false;  // bytes that are not UTF-8 became U+FFFD
};

// Each maximal broken part becomes one U+FFFD.
DecodedText Decode(std::string_view bytes);
std::string Encode(std::u32string_view chars);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_ALIGNED_TEXT_H_
