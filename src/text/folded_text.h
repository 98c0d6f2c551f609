// Texts as people compare them: after canonical composition (NFC) and full case
// folding, each character with the part of the original that it stands for.
#ifndef REGARD_SRC_TEXT_FOLDED_TEXT_H_
#define REGARD_SRC_TEXT_FOLDED_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regard::inline v0 {

struct FoldedText {
  std::u32string chars;
  // Original code points [begin, end) of each of `chars`. Several in a row have
  // the same when the original can't be divided between them (an ß folds to
  // two letters).
  std::vector<int64_t> begin, end;

  // Whether a match may begin before, or end behind, `chars[i]`.
  bool StartsUnit(size_t i) const {
    return i == 0 || begin[i] != begin[i - 1] || end[i] != end[i - 1];
  }
  bool EndsUnit(size_t i) const {
    return i + 1 == chars.size() || StartsUnit(i + 1);
  }
};

// Whitespace of any kind becomes a space, character by character.
FoldedText Fold(std::u32string_view text);

// The folded characters alone, without whitespace at both ends.
std::u32string FoldedKey(std::string_view text);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_FOLDED_TEXT_H_
