#include "cli/model/load_tokenizer.h"

#include <filesystem>

#include "regard/error.h"

namespace regard::inline v0 {

Tokenizer LoadTokenizerOf(const ModelLocation& location) {
  const std::string path = location.directory + "/tokenizer.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(ErrorKind::kFile, location.directory, "holds no tokenizer.json",
                "put the tokenizer of the model there");
  }
  return Tokenizer::Load(path);
}

Tokenizer LoadTokenizer(const std::optional<std::string>& model) {
  const ModelLocation location = FindModel(model);
  std::error_code ignored;
  if (std::filesystem::is_regular_file(location.directory, ignored)) {
    return Tokenizer::Load(location.directory);
  }
  return LoadTokenizerOf(location);
}

void NoteRepaired(const Encoding& encoding, Console& console) {
  if (encoding.repaired) console.Note("invalid UTF-8 was read as U+FFFD");
}

}  // namespace regard::inline v0
