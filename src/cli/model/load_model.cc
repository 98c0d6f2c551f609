#include "cli/model/load_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cli/model/find_model.h"
#include "cli/model/load_tokenizer.h"
#include "cli/text_layout.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

void RequireTokens(const Encoding& encoding, int sentence,
                   const std::string& name, const std::string& text) {
  for (const Token& token : encoding.tokens) {
    if (token.sentence == sentence) return;
  }
  throw Error(
      ErrorKind::kUsage, name,
      text.empty() ? "is empty" : "holds nothing but invisible characters",
      "give at least one word");
}

}  // namespace

LoadedModel LoadModel(const std::optional<std::string>& model) {
  const ModelLocation location = FindModel(model);
  return {location.name, Model::Load(location.directory),
          LoadTokenizerOf(location)};
}

Encoding EncodeFor(const LoadedModel& loaded, const TextOptions& options,
                   Console& console) {
  const TextInput input = ReadTextInput(options);
  EncodeOptions encode;
  encode.max_length = loaded.model->info().max_positions;
  encode.truncate = options.truncate;
  Encoding encoding = loaded.tokenizer.Encode(input.text, input.pair, encode);
  RequireTokens(encoding, 0, "text", input.text);
  if (input.pair) RequireTokens(encoding, 1, "--pair", *input.pair);
  NoteRepaired(encoding, console);
  if (encoding.truncated > 0) {
    console.Note(Counted(encoding.truncated, "token") +
                 " beyond the limit of " + std::to_string(*encode.max_length) +
                 (encoding.truncated == 1 ? " was" : " were") + " cut off");
  }
  return encoding;
}

void NoteNonFiniteWeights(const Model& model, Console& console) {
  constexpr size_t kShown = 3;
  std::vector<std::string> names = model.NonFiniteWeights();
  if (names.empty()) return;
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  console.Note("NaN or infinity in the weights of " + Join(names) +
               (more > 0 ? " and " + std::to_string(more) + " more" : ""));
}

}  // namespace regard::inline v0
