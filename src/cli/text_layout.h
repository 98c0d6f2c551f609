// How words and numbers are set in what people read.
#ifndef REGARD_SRC_CLI_TEXT_LAYOUT_H_
#define REGARD_SRC_CLI_TEXT_LAYOUT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace regard::inline v0 {

// Words of `text` in lines of at most `width` columns, all but the first line
// indented by `indent`; the first is taken to begin there.
std::string Wrapped(std::string_view text, int width, int indent);

// "1,234,567"
std::string WithCommas(int64_t number);

// "1 head", "2 heads".
std::string Counted(int64_t count, const std::string& noun);

// "90.9 MB" (powers of 1000).
std::string ByteSizeText(int64_t bytes);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_TEXT_LAYOUT_H_
