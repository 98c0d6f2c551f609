// Small text helpers shared by messages everywhere.
#ifndef REGARD_SRC_BASE_STRINGS_H_
#define REGARD_SRC_BASE_STRINGS_H_

#include <string>
#include <string_view>
#include <vector>

namespace regard::inline v0 {

// Replaces C0 controls and DEL by \n, \t, \xNN, so that a hostile file name or
// token can't break a one-line message or drive a terminal.
std::string EscapeControls(std::string_view text);

// The candidate nearest to `word` by edits and swaps of neighbours, or "" when
// none is closer than half of the longer word.
std::string Nearest(std::string_view word,
                    const std::vector<std::string>& candidates);

// "a, b, c"
std::string Join(const std::vector<std::string>& parts,
                 std::string_view separator = ", ");

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_STRINGS_H_
