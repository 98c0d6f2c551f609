// The parameter list of a module that is made of modules.
#ifndef REGARD_SRC_NN_PARAMETER_LIST_H_
#define REGARD_SRC_NN_PARAMETER_LIST_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "regard/nn.h"

namespace regard::inline v0 {

// "PREFIX.NAME" for every parameter of every part, in order.
inline std::vector<NamedParameter> Prefixed(
    std::initializer_list<std::pair<const char*, Module*>> parts) {
  std::vector<NamedParameter> all;
  for (const auto& [prefix, module] : parts) {
    for (NamedParameter& entry : module->Parameters()) {
      all.push_back({std::string(prefix) + "." + entry.name, entry.parameter});
    }
  }
  return all;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_PARAMETER_LIST_H_
