#include "model/family.h"

namespace regard::inline v0 {

std::span<const ModelFamily> AllModelFamilies() {
  static constexpr ModelFamily kFamilies[] = {
      {"bert", LoadBert},
  };
  return kFamilies;
}

}  // namespace regard::inline v0
