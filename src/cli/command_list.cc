#include "cli/command.h"

namespace regard::inline v0 {

extern const Command kModelsCommand;

const std::vector<const Command*>& Commands() {
  static const std::vector<const Command*> commands = {
      &kModelsCommand,
  };
  return commands;
}

}  // namespace regard::inline v0
