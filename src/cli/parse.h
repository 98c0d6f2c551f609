// From the arguments of the program to a command that is ready to run.
#ifndef REGARD_SRC_CLI_PARSE_H_
#define REGARD_SRC_CLI_PARSE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

namespace regard::inline v0 {

struct Parsed {
  CommonOptions common;
  // Set when help or the version was asked for: print it and stop.
  std::string page;
  std::function<void(Context&)> run;
};

// `arguments`: those of main without the program's name; `width`: columns for
// help. Error (kUsage).
Parsed ParseArguments(std::vector<std::string> arguments, int width);

// Whether JSON is asked for, known even when the rest can't be parsed.
bool AsksForJson(const std::vector<std::string>& arguments);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_PARSE_H_
