// The pages that --help prints.
#ifndef REGARD_SRC_CLI_HELP_H_
#define REGARD_SRC_CLI_HELP_H_

#include <string>

#include "cli/command.h"

namespace regard::inline v0 {

// `app` holds the common options.
std::string ProgramHelp(const CLI::App& app, int width);
std::string CommandHelp(const Command& command, const CLI::App& app, int width);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_HELP_H_
