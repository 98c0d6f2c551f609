// regard info: about a file, a model, or this machine.
#include "cli/info/info.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/options.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

struct Options {
  std::optional<std::string> file, model;
  bool verify = false;
};

// By the extension; what is there is looked at later.
bool NamesArrays(const std::string& path) {
  constexpr std::string_view kExtensions[] = {".safetensors", ".json", ".npy",
                                              ".npz"};
  return std::any_of(
      std::begin(kExtensions), std::end(kExtensions),
      [&](std::string_view extension) { return path.ends_with(extension); });
}

void Run(const Options& options, Context& context) {
  if (options.file && options.model) {
    throw Error(ErrorKind::kUsage, "info", "given both FILE and --model",
                "leave one of them out");
  }
  if (!options.file && !options.model) {
    if (options.verify) {
      throw Error(ErrorKind::kUsage, "--verify", "there is nothing to verify",
                  "name a file or a model");
    }
    PrintMachineInfo(context);
    return;
  }
  std::error_code ignored;
  if (options.file && NamesArrays(*options.file) &&
      !std::filesystem::is_directory(*options.file, ignored)) {
    PrintFileInfo(*options.file, options.verify, context);
    return;
  }
  const ModelLocation location =
      FindModel(options.file ? options.file : options.model);
  PrintModelInfo(location, options.verify, context);
}

std::function<void(Context&)> Setup(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddText(app, "FILE", "", options->file,
          "a .safetensors, .npy or .npz file, a model directory, or the name "
          "of a model; without it: this machine");
  AddModelOption(app, options->model);
  AddFlag(app, "--verify", options->verify,
          "compute the hash anew instead of taking the remembered one");
  return [options](Context& context) { Run(*options, context); };
}

}  // namespace

extern const Command kInfoCommand;
const Command kInfoCommand = {"info", "about a file, a model, or this machine",
                              "regard info all-minilm-l6-v2", Setup};

}  // namespace regard::inline v0
