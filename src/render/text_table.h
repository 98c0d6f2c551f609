// Small tables for the terminal.
#ifndef REGARD_SRC_RENDER_TEXT_TABLE_H_
#define REGARD_SRC_RENDER_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace regard::inline v0 {

enum class TextAlign { kLeft, kRight };

// One line a row, columns as wide as their widest cell (by display width, so
// that marks and East Asian text stay in line), `gap` spaces between them, no
// spaces at the ends of lines. Cells are made visible (VisibleText). `align`
// holds one entry a column; further columns are aligned like the last one, all
// to the left when it is empty. Rows may be shorter than others.
std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      const std::vector<TextAlign>& align, int gap = 2);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_TEXT_TABLE_H_
