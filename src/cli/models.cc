// regard models: which models there are, and where.
#include <CLI/CLI.hpp>

#include "base/display_width.h"
#include "cli/model/find_model.h"
#include "cli/model/known_models.h"
#include "io/json.h"

namespace regard::inline v0 {

namespace {

Json AsJson() {
  Json::Array models;
  for (const KnownModel& known : KnownModels()) {
    const std::string directory = FindByName(known.name);
    Json model;
    model.Set("name", known.name);
    model.Set("about", known.about);
    model.Set("present", !directory.empty());
    model.Set("directory", directory.empty() ? Json() : Json(directory));
    model.Set("how", known.how);
    models.push_back(std::move(model));
  }
  Json::Array folders;
  for (const std::string& folder : ModelFolders()) folders.push_back(folder);
  Json out;
  out.Set("models", std::move(models));
  out.Set("folders", std::move(folders));
  return out;
}

std::string AsText() {
  std::string out;
  for (const KnownModel& known : KnownModels()) {
    const std::string directory = FindByName(known.name);
    out += std::string(known.name) + "\n  " + known.about + "\n  " +
           (directory.empty() ? std::string("not here: ") + known.how
                              : "here: " + VisibleText(directory)) +
           "\n";
  }
  const std::vector<std::string> folders = ModelFolders();
  out += folders.empty() ? "\nLooked for nowhere: HOME is not set\n"
                         : "\nLooked for in:\n";
  for (const std::string& folder : folders) {
    out += "  " + VisibleText(folder) + "\n";
  }
  return out;
}

std::function<void(Context&)> Setup(CLI::App&) {
  return [](Context& context) {
    if (context.common.json) {
      context.console.PrintJson(AsJson());
    } else {
      context.console.Print(AsText());
    }
  };
}

}  // namespace

extern const Command kModelsCommand;
const Command kModelsCommand = {
    "models", "known models, present or not, and how each comes",
    "regard models", Setup};

}  // namespace regard::inline v0
