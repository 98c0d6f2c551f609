#include "cli/command.h"

namespace regard::inline v0 {

extern const Command kAttendCommand;
extern const Command kInfoCommand;
extern const Command kModelsCommand;
extern const Command kTokenizeCommand;

const std::vector<const Command*>& Commands() {
  static const std::vector<const Command*> commands = {
      &kTokenizeCommand,
      &kAttendCommand,
      &kInfoCommand,
      &kModelsCommand,
  };
  return commands;
}

}  // namespace regard::inline v0
