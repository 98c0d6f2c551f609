// A model by name with its tokenizer, and a text made ready for it.
#ifndef REGARD_SRC_CLI_MODEL_LOAD_MODEL_H_
#define REGARD_SRC_CLI_MODEL_LOAD_MODEL_H_

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "regard/model.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

struct LoadedModel {
  std::string name;  // for people and provenance, never a path
  std::unique_ptr<Model> model;
  Tokenizer tokenizer;
};

// `model`: the value of --model. Error as FindModel, Model::Load and
// Tokenizer::Load.
LoadedModel LoadModel(const std::optional<std::string>& model);

// The tokens of TEXT and --pair, no more than the model has positions for.
// Error (kUsage) when a sentence holds no token, or when they are too many and
// --truncate isn't given. Notes repaired UTF-8 and what was cut.
Encoding EncodeFor(const LoadedModel& loaded, const TextOptions& options,
                   Console& console);

// After a run: notes weight tensors that hold a NaN or an infinity.
void NoteNonFiniteWeights(const Model& model, Console& console);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MODEL_LOAD_MODEL_H_
