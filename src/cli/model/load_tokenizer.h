#ifndef REGARD_SRC_CLI_MODEL_LOAD_TOKENIZER_H_
#define REGARD_SRC_CLI_MODEL_LOAD_TOKENIZER_H_

#include <optional>
#include <string>

#include "cli/model/find_model.h"
#include "cli/terminal.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

// Error (kFile) when the model's directory has none, or as Tokenizer::Load.
Tokenizer LoadTokenizerOf(const ModelLocation& location);

// The tokenizer of a model (`model`: the value of --model), or of a
// tokenizer.json itself. Error as FindModel and Tokenizer::Load.
Tokenizer LoadTokenizer(const std::optional<std::string>& model);

// Notes when `encoding` stands for a repaired text.
void NoteRepaired(const Encoding& encoding, Console& console);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MODEL_LOAD_TOKENIZER_H_
