#include "cli/model/find_model.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "cli/model/known_models.h"
#include "cli/options.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace fs = std::filesystem;

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsPath(const std::string& model) {
  return model.find('/') != std::string::npos ||
         fs::path(model).has_extension() || model == "." || model == "..";
}

ModelLocation AtPath(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorKind::kFile, path, "no such model directory",
                "name a directory with config.json, tokenizer.json and "
                "model.safetensors, or a model that `regard models` lists");
  }
  const fs::path resolved = fs::absolute(path).lexically_normal();
  const fs::path last = resolved.has_filename()
                            ? resolved.filename()
                            : resolved.parent_path().filename();
  return {last.string(), path};
}

std::string HowItComes(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownModel& known : KnownModels()) {
    if (known.name == name) return known.how;
    names.emplace_back(known.name);
  }
  const std::string nearest = Nearest(name, names);
  return nearest.empty() ? "`regard models` lists the known ones; a directory "
                           "is named with a /, as ./" +
                               name
                         : "did you mean " + nearest + "?";
}

}  // namespace

void AddModelOption(CLI::App& app, std::optional<std::string>& model) {
  AddText(app, "--model", "M", model,
          std::string("a model directory, or a name that `regard models` "
                      "lists (default: ") +
              kDefaultModel + ")");
}

std::string CacheFolder() {
  // An XDG path that is not absolute is to be ignored.
  const std::string xdg = Environment("XDG_CACHE_HOME");
  if (!xdg.empty() && xdg[0] == '/') return xdg + "/regard";
  const std::string home = Environment("HOME");
  return home.empty() ? "" : home + "/.cache/regard";
}

std::vector<std::string> ModelFolders() {
  std::vector<std::string> folders;
  std::string rest = Environment("REGARD_MODELS");
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) folders.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  const std::string cache = CacheFolder();
  if (!cache.empty()) folders.push_back(cache + "/models");
  return folders;
}

std::string FindByName(const std::string& name) {
  for (const std::string& folder : ModelFolders()) {
    std::error_code ignored;
    const std::string directory = folder + "/" + name;
    if (fs::is_directory(directory, ignored)) return directory;
  }
  return "";
}

ModelLocation FindModel(const std::optional<std::string>& model) {
  const std::string name = model.value_or(kDefaultModel);
  if (name.empty()) {
    throw Error(ErrorKind::kUsage, "--model", "the name is empty",
                "`regard models` lists the known ones");
  }
  if (IsPath(name)) return AtPath(name);
  const std::string directory = FindByName(name);
  if (directory.empty()) {
    throw Error(ErrorKind::kFile, "model " + name, "not found",
                HowItComes(name));
  }
  return {name, directory};
}

}  // namespace regard::inline v0
