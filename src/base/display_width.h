// How text stands in a terminal: columns, padding, cutting, and what to print
// for characters that must not reach it.
#ifndef REGARD_SRC_BASE_DISPLAY_WIDTH_H_
#define REGARD_SRC_BASE_DISPLAY_WIDTH_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace regard::inline v0 {

// Columns of one character: 2 for East Asian wide and full-width, 0 for
// combining marks, joiners and controls, else 1.
int DisplayWidth(char32_t c);

// Columns of a text: the sum over its characters; a narrow character followed
// by U+FE0F (emoji style) counts 2. Terminals that join emoji sequences show
// fewer columns, none shows more.
int DisplayWidth(std::string_view text);

// The text as it can be shown anywhere: broken UTF-8 as U+FFFD; controls as
// \n, \t, \xNN; line separators, noncharacters, bidirectional embeddings and
// overrides (which would turn what stands around them) and stray invisible
// spaces as \u{N}. Joiners and variation selectors stay.
std::string VisibleText(std::string_view text);

// The longest beginning of `text` of at most `columns`, with "…" at its end
// when something was cut; never ends between a base and its marks.
std::string CutToWidth(std::string_view text, int columns);

// With a left-to-right mark where something follows the last right-to-left
// character: numbers and signs keep their place after it.
std::string WithLeftToRightEnd(std::string_view text);

// Spaces added on the right (on the left) up to `columns`.
std::string PadRight(std::string_view text, int columns);
std::string PadLeft(std::string_view text, int columns);

// End of the user-perceived character that begins at `begin`: a base with its
// marks, variation selectors and joined parts, or a pair of regional
// indicators. An approximation of UAX #29 without its tables.
size_t ClusterEnd(std::string_view text, size_t begin);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_DISPLAY_WIDTH_H_
