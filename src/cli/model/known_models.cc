#include "cli/model/known_models.h"

namespace regard::inline v0 {

const std::vector<KnownModel>& KnownModels() {
  static const std::vector<KnownModel> models = {
      {"all-minilm-l6-v2",
       "BERT family, 6 layers x 12 heads, hidden 384, 91 MB, Apache-2.0",
       "`./dev model all-minilm-l6-v2` brings it"},
      {"smollm2",
       "Llama family, 30 layers x 9 heads, hidden 576, 98 MB, Apache-2.0",
       "a later version can load it"},
  };
  return models;
}

}  // namespace regard::inline v0
