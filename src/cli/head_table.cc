#include "cli/head_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/display_width.h"
#include "cli/paint.h"

namespace regard::inline v0 {

namespace {

constexpr int kRowLabel = 5;     // "H11  "
constexpr int kWidestCell = 14;  // of a label, a blank and three digits
constexpr int kDigits = 3;

using Cells = std::map<HeadId, Link>;

std::string Cell(const Link& link, const std::vector<std::string>& labels,
                 int width, bool color) {
  // One blank column separates cells and stays unshaded.
  const int label_width = width - kDigits - 2;
  const std::string label = link.key < 0 ? "-" : VisibleText(labels[link.key]);
  const std::string text =
      PadRight(CutToWidth(label, label_width), label_width) + " " +
      Hundredths(link.weight, kDigits);
  // Square root: most weights are small, and it is the scale of grids.
  HeatMapStyle style;
  style.scale = ColorScale::kSqrt;
  return OnBackground(text, ColorOf(style, link.weight), color) + " ";
}

std::string Block(const Cells& cells, const std::vector<int>& layers,
                  const std::set<int>& heads,
                  const std::vector<std::string>& labels, int width,
                  bool color) {
  std::string out(kRowLabel, ' ');
  for (const int layer : layers) {
    out += PadRight("L" + std::to_string(layer), width);
  }
  while (out.back() == ' ') out.pop_back();
  out += '\n';
  for (const int head : heads) {
    out += PadRight("H" + std::to_string(head), kRowLabel);
    for (const int layer : layers) {
      const auto at = cells.find({layer, head});
      out += at == cells.end() ? std::string(width, ' ')
                               : Cell(at->second, labels, width, color);
    }
    while (out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace

std::string HeadTable(const std::vector<Link>& links,
                      const std::vector<std::string>& labels, int width,
                      bool color) {
  Cells cells;
  std::set<int> layers, heads;
  for (const Link& link : links) {
    cells.emplace(link.head, link);
    layers.insert(link.head.layer);
    heads.insert(link.head.head);
  }
  // As wide as fits for up to six layers, the rest in blocks of six.
  constexpr int kNarrowestCell = 10;
  const int count = static_cast<int>(layers.size());
  const int room = std::max(kNarrowestCell, width - kRowLabel);
  const int per_block =
      std::clamp(room / (kNarrowestCell + 2), 1, std::max(count, 1));
  const int cell = std::min(room / per_block, kWidestCell);
  std::string out;
  for (auto it = layers.begin(); it != layers.end();) {
    std::vector<int> block;
    while (it != layers.end() && static_cast<int>(block.size()) < per_block) {
      block.push_back(*it++);
    }
    if (!out.empty()) out += '\n';
    out += Block(cells, block, heads, labels, cell, color);
  }
  return out;
}

const Link& StrongestOf(const std::vector<Link>& links) {
  const Link* best = &links.front();
  for (const Link& link : links) {
    // A NaN in front gives way to any number.
    if (link.weight > best->weight || best->key < 0) best = &link;
  }
  return *best;
}

}  // namespace regard::inline v0
