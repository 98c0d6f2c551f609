// What a subcommand is, and what it works with.
//
// A subcommand is one file that defines a Command, and one line in
// command_list.cc.
#ifndef REGARD_SRC_CLI_COMMAND_H_
#define REGARD_SRC_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace regard::inline v0 {

// The options that every command has.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  ColorMode color = ColorMode::kAuto;
  int threads = 0;  // 0: all cores
};

// Everything a running command talks to.
struct Context {
  CommonOptions common;
  Console console;
};

struct Command {
  const char* name;
  const char* summary;  // one line, without a full stop
  const char* example;  // a line that works when it is pasted
  // Declares positionals and options on `app`; what comes back does the work
  // once they are parsed. The options live in what the function captures.
  std::function<void(Context&)> (*setup)(CLI::App& app);
};

// All commands, in the order in which `regard --help` lists them.
const std::vector<const Command*>& Commands();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_COMMAND_H_
