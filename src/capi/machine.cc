// What this library is and can do here.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "attention/kernel_list.h"
#include "capi/boundary.h"
#include "capi/handles.h"
#include "regard/version.h"

namespace {

using regard::Guard;
using regard::Required;

void WriteList(std::span<const char* const> list, const char** names,
               size_t capacity, size_t* count) {
  size_t& total = Required(count, "count");
  if (capacity > 0) Required(names, "names");
  std::copy_n(list.begin(), std::min(capacity, list.size()), names);
  total = list.size();
}

// Names that live forever, of those instruction sets of this build that are in
// `wanted`.
std::vector<const char*> LastingNames(const std::vector<std::string>& wanted) {
  static const std::vector<std::string>& built =
      *new std::vector<std::string>(regard::BuiltInstructionSets());
  std::vector<const char*> names;
  for (const std::string& name : built) {
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
      names.push_back(name.c_str());
    }
  }
  return names;
}

}  // namespace

const char* regard_version(void) { return REGARD_VERSION; }

regard_status regard_kernels(const char** names, size_t capacity,
                             size_t* count) {
  return Guard("regard_kernels", [&] {
    std::vector<const char*> list;
    for (const regard::Kernel& kernel : regard::Kernels()) {
      list.push_back(kernel.name);
    }
    WriteList(list, names, capacity, count);
  });
}

regard_status regard_built_instruction_sets(const char** names, size_t capacity,
                                            size_t* count) {
  return Guard("regard_built_instruction_sets", [&] {
    WriteList(LastingNames(regard::BuiltInstructionSets()), names, capacity,
              count);
  });
}

regard_status regard_usable_instruction_sets(const char** names,
                                             size_t capacity, size_t* count) {
  return Guard("regard_usable_instruction_sets", [&] {
    WriteList(LastingNames(regard::UsableInstructionSets()), names, capacity,
              count);
  });
}
