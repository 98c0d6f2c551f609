// Where models are, and what their bytes are.
#ifndef REGARD_SRC_CLI_MODEL_FIND_MODEL_H_
#define REGARD_SRC_CLI_MODEL_FIND_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace regard::inline v0 {

inline constexpr char kDefaultModel[] = "all-minilm-l6-v2";

// --model M.
void AddModelOption(CLI::App& app, std::optional<std::string>& model);

struct ModelLocation {
  std::string name;       // for people and provenance: never a whole path
  std::string directory;  // or a file, when M is the path of one
};

// A string with "/" or an extension is a path; anything else is a name, looked
// for in the folders of ModelFolders(). Unset: the default model. Error (kFile)
// that says how the model comes.
ModelLocation FindModel(const std::optional<std::string>& model);

// $REGARD_MODELS (separated by colons), then the user's cache.
std::vector<std::string> ModelFolders();

// The directory of model `name`, or "" when it is in none of the folders.
std::string FindByName(const std::string& name);

// $XDG_CACHE_HOME/regard, or ~/.cache/regard; "" when there is no home.
std::string CacheFolder();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MODEL_FIND_MODEL_H_
