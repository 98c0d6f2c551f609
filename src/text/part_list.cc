#include "text/part_list.h"

#include <type_traits>
#include <vector>

#include "base/strings.h"
#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

constexpr PartEntry<Normalizer> kNormalizers[] = {
    {"BertNormalizer", MakeBertNormalizer},
};

constexpr PartEntry<PreTokenizer> kPreTokenizers[] = {
    {"BertPreTokenizer", MakeBertPreTokenizer},
};

constexpr PartEntry<TokenModel> kModels[] = {
    {"WordPiece", MakeWordPiece},
};

constexpr PartEntry<PostProcessor> kPostProcessors[] = {
    {"TemplateProcessing", MakeTemplateProcessing},
    {"BertProcessing", MakeBertProcessing},
};

template <typename Part, size_t N>
std::unique_ptr<Part> Make(const PartEntry<Part> (&list)[N],
                           const std::string& type, const char* section,
                           const PartSource& source, const std::string& name) {
  std::vector<std::string> known;
  for (const PartEntry<Part>& entry : list) {
    if (type == entry.type) return entry.make(source);
    known.push_back(entry.type);
  }
  throw Error(ErrorKind::kUnsupported, name,
              std::string(section) + " " + type + " is not supported",
              "this version knows " + Join(known));
}

// Files from before the models had a type are told apart by their members.
std::string ModelType(const PartSource& source) {
  if (source.json.Find("type") == nullptr) {
    if (source.json.Find("merges") != nullptr) return "BPE";
    if (source.json.Find("continuing_subword_prefix") != nullptr) {
      return "WordPiece";
    }
  }
  return StringMember(source, "type");
}

// Reads the sections of one tokenizer.json.
class PartReader {
 public:
  PartReader(const Json& json, const std::string& name)
      : json_(json), name_(name) {}

  // The part in `section`; null where the file has none.
  template <typename Part, size_t N>
  std::unique_ptr<Part> Read(const PartEntry<Part> (&list)[N],
                             const char* section) {
    const Json* part = json_.Find(section);
    if (part == nullptr || part->IsNull()) return nullptr;
    const PartSource source{*part, name_ + ": " + section};
    part->AsObject(source.where);
    types_.push_back(std::is_same_v<Part, TokenModel>
                         ? ModelType(source)
                         : StringMember(source, "type"));
    return Make(list, types_.back(), section, source, name_);
  }

  const std::vector<std::string>& types() const { return types_; }

 private:
  const Json& json_;
  const std::string& name_;
  std::vector<std::string> types_;
};

}  // namespace

TokenizerParts MakeParts(const Json& json, const std::string& name) {
  PartReader reader(json, name);
  TokenizerParts parts;
  parts.normalizer = reader.Read(kNormalizers, "normalizer");
  parts.pre_tokenizer = reader.Read(kPreTokenizers, "pre_tokenizer");
  parts.model = reader.Read(kModels, "model");
  if (parts.model == nullptr) {
    throw Error(ErrorKind::kFormat, name, "there is no model in it",
                "a tokenizer.json has a section \"model\"");
  }
  parts.post_processor = reader.Read(kPostProcessors, "post_processor");
  if (parts.post_processor == nullptr) parts.post_processor = MakePlainJoin();
  parts.description = Join(reader.types());
  return parts;
}

const Json& Member(const PartSource& source, const char* key) {
  const Json* member = source.json.Find(key);
  if (member == nullptr) {
    throw Error(ErrorKind::kFormat, source.where,
                std::string("\"") + key + "\" is missing");
  }
  return *member;
}

bool BoolMember(const PartSource& source, const char* key) {
  return Member(source, key).AsBool(source.where + "." + key);
}

int64_t IntMember(const PartSource& source, const char* key) {
  return Member(source, key).AsInt(source.where + "." + key);
}

const std::string& StringMember(const PartSource& source, const char* key) {
  return Member(source, key).AsString(source.where + "." + key);
}

}  // namespace regard::inline v0
