#ifndef REGARD_SRC_CLI_MODEL_KNOWN_MODELS_H_
#define REGARD_SRC_CLI_MODEL_KNOWN_MODELS_H_

#include <vector>

namespace regard::inline v0 {

struct KnownModel {
  const char* name;
  const char* about;
  const char* how;  // how it comes to this machine
};

// The one list of models that people can ask for by name.
const std::vector<KnownModel>& KnownModels();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MODEL_KNOWN_MODELS_H_
