#include "render/text_table.h"

#include <algorithm>

#include "base/display_width.h"

namespace regard::inline v0 {

std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      const std::vector<TextAlign>& align, int gap) {
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<int> widths;
  for (std::vector<std::string>& row : cells) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t j = 0; j < row.size(); ++j) {
      row[j] = VisibleText(row[j]);
      widths[j] = std::max(widths[j], DisplayWidth(row[j]));
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : cells) {
    std::string line;
    for (size_t j = 0; j < row.size(); ++j) {
      const TextAlign side = align.empty()
                                 ? TextAlign::kLeft
                                 : align[std::min(j, align.size() - 1)];
      if (j > 0) line.append(static_cast<size_t>(gap), ' ');
      line += side == TextAlign::kLeft ? PadRight(row[j], widths[j])
                                       : PadLeft(row[j], widths[j]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace regard::inline v0
