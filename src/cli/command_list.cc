#include "cli/command.h"

namespace regard::inline v0 {

extern const Command kAttendCommand;
extern const Command kBenchCommand;
extern const Command kDemoCommand;
extern const Command kInfoCommand;
extern const Command kMapCommand;
extern const Command kModelsCommand;
extern const Command kRankCommand;
extern const Command kTokenizeCommand;

const std::vector<const Command*>& Commands() {
  static const std::vector<const Command*> commands = {
      &kMapCommand,  &kRankCommand,   &kTokenizeCommand, &kAttendCommand,
      &kInfoCommand, &kModelsCommand, &kBenchCommand,    &kDemoCommand,
  };
  return commands;
}

}  // namespace regard::inline v0
