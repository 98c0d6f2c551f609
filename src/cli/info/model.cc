#include "regard/model.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cli/facts.h"
#include "cli/info/info.h"
#include "cli/model/model_hash.h"
#include "cli/text_layout.h"
#include "regard/error.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

namespace {

void AddShapes(Facts& facts, const ModelInfo& info) {
  facts.Add("family", info.family);
  facts.Add("layers", info.layers);
  facts.Add("heads", info.heads);
  if (info.kv_heads != info.heads) facts.Add("kv_heads", info.kv_heads);
  facts.Add("head_size", info.head_size);
  facts.Add("hidden_size", info.hidden_size);
  facts.Add("intermediate_size", info.intermediate_size);
  facts.Add("vocabulary_size", info.vocabulary_size);
  facts.Add("max_positions", info.max_positions);
  facts.Add("parameters", info.parameters);
}

// A model can be looked at without its tokenizer.
void AddTokenizer(Facts& facts, const std::string& path) {
  try {
    facts.Add("tokenizer", Tokenizer::Load(path).Describe());
  } catch (const Error& error) {
    facts.Add("tokenizer", Json(), std::string("none: ") + error.reason());
  }
}

}  // namespace

void PrintModelInfo(const ModelLocation& location, bool verify,
                    Context& context) {
  const std::unique_ptr<Model> model = Model::Load(location.directory);
  const ModelInfo& info = model->info();
  Facts facts;
  facts.Add("model", location.name);
  facts.Add("directory", location.directory);
  AddShapes(facts, info);
  AddTokenizer(facts, location.directory + "/tokenizer.json");
  facts.Add("weights",
            std::filesystem::path(info.weights_path).filename().string());
  facts.Add("dtype", info.dtype);
  facts.Add("sha256", WeightsSha256(info.weights_path, verify));
  facts.Print(context);
}

}  // namespace regard::inline v0
