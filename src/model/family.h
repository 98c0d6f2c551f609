// The model families that can be loaded: an explicit list. A new family is one
// file and one line in family_list.cc.
#ifndef REGARD_SRC_MODEL_FAMILY_H_
#define REGARD_SRC_MODEL_FAMILY_H_

#include <memory>
#include <span>

#include "model/checkpoint.h"
#include "regard/model.h"

namespace regard::inline v0 {

struct ModelFamily {
  const char* model_type;  // as config.json spells it
  std::unique_ptr<Model> (*load)(Checkpoint checkpoint);
};

std::span<const ModelFamily> AllModelFamilies();

std::unique_ptr<Model> LoadBert(Checkpoint checkpoint);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_MODEL_FAMILY_H_
