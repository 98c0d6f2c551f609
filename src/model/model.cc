#include "regard/model.h"

#include <fmt/format.h>

#include <utility>

#include "base/strings.h"
#include "model/checkpoint.h"
#include "model/family.h"

namespace regard::inline v0 {

std::unique_ptr<Model> Model::Load(const std::string& directory) {
  Checkpoint checkpoint = Checkpoint::Open(directory);
  const std::string type = checkpoint.config.Text("model_type", "");
  for (const ModelFamily& family : AllModelFamilies()) {
    if (type == family.model_type) return family.load(std::move(checkpoint));
  }
  const std::string hint = "known families: " + Join(ModelFamilies());
  const std::string where = checkpoint.config.Where("model_type");
  if (type.empty()) throw Error(ErrorKind::kFormat, where, "missing", hint);
  throw Error(ErrorKind::kUnsupported, where,
              fmt::format("\"{}\" is not a family this version knows", type),
              hint);
}

std::vector<std::string> ModelFamilies() {
  std::vector<std::string> names;
  for (const ModelFamily& family : AllModelFamilies()) {
    names.push_back(family.model_type);
  }
  return names;
}

}  // namespace regard::inline v0
