#include "cli/select_heads.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "cli/options.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

[[noreturn]] void ThrowUnreadable(const std::string& what,
                                  std::string_view text) {
  throw Error(ErrorKind::kUsage, "--" + what,
              "'" + std::string(text) + "' can't be read",
              what == "head" ? "write L3H1,L5H11, or numbers as 0-3,-1"
                             : "write numbers as 0-2,-1");
}

int CheckedIndex(int64_t index, int count, const std::string& what) {
  const int64_t from_start = index < 0 ? index + count : index;
  if (from_start < 0 || from_start >= count) {
    throw Error(
        ErrorKind::kUsage, "--" + what,
        "there is no " + what + " " + std::to_string(index),
        "the model has " + what + "s 0 to " + std::to_string(count - 1));
  }
  return static_cast<int>(from_start);
}

// "3", "-1", "0-2", "0--1", "-3--1".
void AddRange(std::string_view part, int count, const std::string& what,
              std::vector<int>& out) {
  const size_t dash = part.size() < 2 ? part.npos : part.find('-', 1);
  const std::optional<int64_t> first = ParseInteger(part.substr(0, dash));
  const std::optional<int64_t> last =
      dash == part.npos ? first : ParseInteger(part.substr(dash + 1));
  if (!first || !last) ThrowUnreadable(what, part);
  const int begin = CheckedIndex(*first, count, what);
  const int end = CheckedIndex(*last, count, what);
  if (begin > end) {
    throw Error(ErrorKind::kUsage, "--" + what,
                "'" + std::string(part) + "' runs backwards",
                "write the smaller number first");
  }
  for (int i = begin; i <= end; ++i) out.push_back(i);
}

std::vector<int> ParseIndexList(std::string_view text, int count,
                                const std::string& what) {
  std::vector<int> indexes;
  for (const std::string_view part : SplitAtCommas(text)) {
    AddRange(part, count, what, indexes);
  }
  return indexes;
}

bool IsHeadName(std::string_view part) {
  return !part.empty() && (part[0] == 'L' || part[0] == 'l');
}

HeadId ParseHeadName(std::string_view part, int layers, int heads) {
  const size_t h = part.find_first_of("Hh");
  if (h == part.npos) ThrowUnreadable("head", part);
  const std::optional<int64_t> layer = ParseInteger(part.substr(1, h - 1));
  const std::optional<int64_t> head = ParseInteger(part.substr(h + 1));
  if (!layer || !head) ThrowUnreadable("head", part);
  if (*layer < 0 || *layer >= layers || *head < 0 || *head >= heads) {
    throw Error(
        ErrorKind::kUsage, "--head", "there is no " + std::string(part),
        "the model has L0H0 to " + ToString(HeadId{layers - 1, heads - 1}));
  }
  return {static_cast<int>(*layer), static_cast<int>(*head)};
}

std::vector<int> IndexesOf(const std::vector<std::string>& lists, int count,
                           const std::string& what) {
  std::vector<int> indexes;
  for (const std::string& list : lists) {
    const std::vector<int> some = ParseIndexList(list, count, what);
    indexes.insert(indexes.end(), some.begin(), some.end());
  }
  if (lists.empty()) {
    indexes.resize(static_cast<size_t>(count));
    std::iota(indexes.begin(), indexes.end(), 0);
  }
  return indexes;
}

std::vector<HeadId> NamedHeads(const HeadOptions& options, int layers,
                               int heads) {
  if (!options.layers.empty()) {
    throw Error(ErrorKind::kUsage, "--head",
                "a name as L3H1 already says the layer",
                "leave --layer out, or give --head numbers");
  }
  std::set<HeadId> chosen;
  for (const std::string& list : options.heads) {
    for (const std::string_view part : SplitAtCommas(list)) {
      if (!IsHeadName(part)) ThrowUnreadable("head", part);
      chosen.insert(ParseHeadName(part, layers, heads));
    }
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace

void AddHeadOptions(CLI::App& app, HeadOptions& options) {
  AddTexts(app, "--head", "HEADS", options.heads,
           "heads by name (L3H1,L5H11), or numbers in the layers of --layer "
           "(0-3,-1; -1 is the last)");
  AddTexts(app, "--layer", "LAYERS", options.layers,
           "layers by number (0-2,-1; -1 is the last)");
}

std::vector<HeadId> SelectHeads(const HeadOptions& options, int layers,
                                int heads) {
  const bool named =
      std::any_of(options.heads.begin(), options.heads.end(), IsHeadName);
  if (named) return NamedHeads(options, layers, heads);
  std::set<HeadId> chosen;
  for (const int layer : IndexesOf(options.layers, layers, "layer")) {
    for (const int head : IndexesOf(options.heads, heads, "head")) {
      chosen.insert({layer, head});
    }
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace regard::inline v0
