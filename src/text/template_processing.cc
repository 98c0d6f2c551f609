// TemplateProcessing: a free template, as in
//   "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
//              {"Sequence": {"id": "A", "type_id": 0}}, ...]
#include <algorithm>
#include <limits>
#include <map>

#include "io/json.h"
#include "regard/error.h"
#include "text/template.h"

namespace regard::inline v0 {

namespace {

using InsertedTokens = std::vector<std::pair<std::string, int64_t>>;
using SpecialTokens = std::map<std::string, InsertedTokens>;

// "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [101],
//                              "tokens": ["[CLS]"]}}
SpecialTokens ReadSpecialTokens(const PartSource& source) {
  const std::string where = source.where + ".special_tokens";
  SpecialTokens out;
  for (const auto& [name, json] :
       Member(source, "special_tokens").AsObject(where)) {
    const PartSource entry{json, where + "[\"" + name + "\"]"};
    const Json::Array& ids = Member(entry, "ids").AsArray(entry.where + ".ids");
    const Json::Array& pieces =
        Member(entry, "tokens").AsArray(entry.where + ".tokens");
    if (ids.size() != pieces.size()) {
      throw Error(ErrorKind::kFormat, entry.where,
                  std::to_string(ids.size()) + " ids, but " +
                      std::to_string(pieces.size()) + " tokens");
    }
    InsertedTokens tokens;
    for (size_t i = 0; i < ids.size(); ++i) {
      tokens.emplace_back(pieces[i].AsString(entry.where + ".tokens"),
                          ids[i].AsInt(entry.where + ".ids"));
    }
    if (!out.emplace(name, std::move(tokens)).second) {
      throw Error(ErrorKind::kFormat, where,
                  "\"" + name + "\" stands in it twice");
    }
  }
  return out;
}

int ReadSegment(const PartSource& source) {
  const int64_t type_id = IntMember(source, "type_id");
  if (type_id < 0 || type_id > std::numeric_limits<int>::max()) {
    throw Error(ErrorKind::kFormat, source.where,
                "type_id " + std::to_string(type_id) + " is out of range");
  }
  return static_cast<int>(type_id);
}

TemplateItem ReadSequence(const PartSource& source) {
  TemplateItem item;
  const std::string& id = StringMember(source, "id");
  if (id != "A" && id != "B") {
    throw Error(ErrorKind::kFormat, source.where,
                "\"" + id + "\" is no sequence; there are A and B");
  }
  item.sentence = id == "A" ? 0 : 1;
  item.segment = ReadSegment(source);
  return item;
}

TemplateItem ReadSpecialToken(const PartSource& source,
                              const SpecialTokens& special_tokens) {
  TemplateItem item;
  const std::string& id = StringMember(source, "id");
  const auto it = special_tokens.find(id);
  if (it == special_tokens.end()) {
    throw Error(ErrorKind::kFormat, source.where,
                "\"" + id + "\" is not among the special_tokens");
  }
  item.tokens = it->second;
  item.segment = ReadSegment(source);
  return item;
}

TemplateItems ReadTemplate(const PartSource& source, const char* key,
                           int sentences, const SpecialTokens& special_tokens) {
  const std::string where = source.where + "." + key;
  TemplateItems items;
  for (const Json& json : Member(source, key).AsArray(where)) {
    if (const Json* sequence = json.Find("Sequence")) {
      items.push_back(ReadSequence({*sequence, where}));
    } else if (const Json* token = json.Find("SpecialToken")) {
      items.push_back(ReadSpecialToken({*token, where}, special_tokens));
    } else {
      throw Error(ErrorKind::kFormat, where,
                  "every item must be a Sequence or a SpecialToken");
    }
  }
  for (int sentence = 0; sentence < 2; ++sentence) {
    const auto count = std::count_if(items.begin(), items.end(),
                                     [sentence](const TemplateItem& item) {
                                       return item.sentence == sentence;
                                     });
    const int wanted = sentence < sentences ? 1 : 0;
    if (count == wanted) continue;
    throw Error(ErrorKind::kFormat, where,
                std::string("sequence ") + "AB"[sentence] + " stands in it " +
                    std::to_string(count) + " times instead of " +
                    std::to_string(wanted));
  }
  return items;
}

}  // namespace

std::unique_ptr<PostProcessor> MakeTemplateProcessing(
    const PartSource& source) {
  const SpecialTokens special_tokens = ReadSpecialTokens(source);
  TemplateItems single = ReadTemplate(source, "single", 1, special_tokens);
  TemplateItems pair = ReadTemplate(source, "pair", 2, special_tokens);
  return std::make_unique<Template>(std::move(single), std::move(pair));
}

}  // namespace regard::inline v0
