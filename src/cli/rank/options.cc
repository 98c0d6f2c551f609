#include "cli/rank/options.h"

#include <CLI/App.hpp>

#include "cli/model/find_model.h"
#include "cli/options.h"
#include "regard/error.h"
#include "regard/lens.h"

namespace regard::inline v0 {

namespace {

std::vector<std::string> SortNames() {
  std::vector<std::string> names;
  for (const LinkColumn& column : LinkColumns()) {
    if (column.sortable) names.emplace_back(column.name);
  }
  return names;
}

void Wrong(bool wrong, const std::string& what, const std::string& why,
           const std::string& hint) {
  if (wrong) throw Error(ErrorKind::kUsage, what, why, hint);
}

}  // namespace

std::vector<std::string> RankOptions::Texts() const {
  std::vector<std::string> texts;
  if (text) texts.push_back(*text);
  texts.insert(texts.end(), more_texts.begin(), more_texts.end());
  return texts;
}

void AddRankOptions(CLI::App& app, RankOptions& o) {
  AddText(app, "TEXT", "", o.text, "the text; - reads it from stdin");
  AddText(app, "--from", "A", o.from,
          "the token or span that looks; without it, the strongest source of "
          "B in each head");
  AddTexts(app, "--to", "B", o.to,
           "the token or span that is looked at; several: one column each and "
           "their difference; none: the strongest target of A in each head");
  AddTexts(app, "--text", "TEXT", o.more_texts,
           "another text, to compare with the first");
  AddText(app, "--pair", "TEXT", o.pair, "a second sentence");
  AddFlag(app, "--truncate", o.truncate,
          "cut a text that is too long on the right (of a pair: the longer one "
          "first)");
  AddHeadOptions(app, o.heads);
  AddInteger(app, "--top", "N", o.top,
             "print the first N heads (default: 10 in the terminal, all in "
             "JSON)",
             1);
  AddChoice(app, "--sort", o.sort, SortNames(),
            "order of the heads (default: weight)");
  AddModelOption(app, o.model);
  AddText(app, "--file", "F", o.file, "");
  app.get_option("--file")->group("");  // not in the help before it exists
}

void CheckRankOptions(const RankOptions& o) {
  Wrong(o.file.has_value(), "--file", "comes in a later version",
        "give one TEXT, or several with --text");
  const size_t texts = o.Texts().size();
  Wrong(texts == 0, "text", "none was given", "add it in quotes");
  Wrong(!o.from && o.to.empty(), "rank", "neither --from nor --to was given",
        "add --from \"word\", --to \"word\" or both");
  const bool contrast = texts > 1 || o.to.size() > 1;
  Wrong(contrast && (!o.from || o.to.empty()), "rank",
        "several columns need both --from and --to",
        "add the one that is missing");
  Wrong(contrast && o.sort.value_or("weight") != "weight", "--sort",
        "columns are ordered by the difference of their weights",
        "leave it out, or give one --to and one text");
}

}  // namespace regard::inline v0
