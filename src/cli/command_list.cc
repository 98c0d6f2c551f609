#include "cli/command.h"

namespace regard::inline v0 {

extern const Command kAttendCommand;
extern const Command kModelsCommand;

const std::vector<const Command*>& Commands() {
  static const std::vector<const Command*> commands = {
      &kAttendCommand,
      &kModelsCommand,
  };
  return commands;
}

}  // namespace regard::inline v0
