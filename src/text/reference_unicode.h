// Character properties as the reference tokenizer (the `tokenizers` package,
// 0.23) sees them. Its tables come from several versions of Unicode: general
// categories from about 8, decompositions from 9, lower case and word
// characters from 16 and later. ICU's own tables are cut to those versions by
// the age of a character; what remains different is listed here by code point.
// A test compares all code points with the package.
#ifndef REGARD_SRC_TEXT_REFERENCE_UNICODE_H_
#define REGARD_SRC_TEXT_REFERENCE_UNICODE_H_

#include <cstdint>
#include <string>

namespace regard::inline v0::reference_unicode {

// The property White_Space.
bool IsWhitespace(char32_t c);

// What BERT's cleaning drops: categories Cc, Cf, Co, without tab, newline and
// carriage return. Unassigned code points are not among them.
bool IsControl(char32_t c);

bool IsNonspacingMark(char32_t c);

// ASCII punctuation and symbols, and the categories P*.
bool IsPunctuation(char32_t c);

// Blocks of CJK ideographs that BERT sets apart by spaces.
bool IsCjkIdeograph(char32_t c);

// \w of the reference's regular expressions: alphabetic, marks, decimal
// digits, connectors, joiners.
bool IsWordCharacter(char32_t c);

// Appends the lower-case form of `c`, without context: one character, except
// for U+0130.
void AppendLowercase(char32_t c, std::u32string* out);

// Canonical decomposition, complete: appends what `c` becomes (itself when it
// has none).
void AppendDecomposition(char32_t c, std::u32string* out);

// Canonical combining class; 0 for characters newer than the reference.
uint8_t CombiningClass(char32_t c);

}  // namespace regard::inline v0::reference_unicode

#endif  // REGARD_SRC_TEXT_REFERENCE_UNICODE_H_
