#include "cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cli/help.h"
#include "cli/options.h"
#include "regard/error.h"
#include "regard/version.h"

namespace regard::inline v0 {

namespace {

using Arguments = std::vector<std::string>;

// CLI11 takes "--title=" for "--title" and then swallows the next argument.
Arguments SplitEmptyValues(const Arguments& arguments) {
  Arguments out;
  bool options = true;
  for (const std::string& argument : arguments) {
    if (argument == "--") options = false;
    if (options && argument.size() > 3 && argument.starts_with("--") &&
        argument.find('=') == argument.size() - 1) {
      out.push_back(argument.substr(0, argument.size() - 1));
      out.emplace_back();
    } else {
      out.push_back(argument);
    }
  }
  return out;
}

// "--name", or "" when no option of `app` is close. Compared without the
// dashes, which would make short names look alike.
std::string NearestOption(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const size_t begin = argument.find_first_not_of('-');
  if (begin == argument.npos) return "";
  const std::string nearest = Nearest(argument.substr(begin), names);
  return nearest.empty() ? "" : "--" + nearest;
}

[[noreturn]] void ThrowUnexpected(const CLI::App& app, const std::string& help,
                                  std::string argument) {
  if (argument.size() < 2 || argument[0] != '-') {
    throw Error(ErrorKind::kUsage, "'" + argument + "'",
                "one argument too many",
                "put a text with spaces in quotes; " + help +
                    " lists what "
                    "belongs here");
  }
  argument = argument.substr(0, argument.find('='));
  const std::string nearest = NearestOption(app, argument);
  throw Error(ErrorKind::kUsage, argument, "unknown option",
              nearest.empty() ? help +
                                    " lists them; a text that begins with - "
                                    "comes after --"
                              : "did you mean " + nearest + "?");
}

// What CLI11 found, in our words. `error.what()` begins with the option.
[[noreturn]] void ThrowParseError(const CLI::ParseError& error,
                                  const std::string& help) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find(':'));
  if (text.find("At Most") != std::string::npos) {
    throw Error(ErrorKind::kUsage, option, "given more than once",
                "give it once");
  }
  if (text.find("required") != std::string::npos) {
    throw Error(ErrorKind::kUsage, option, "needs a value",
                help + " shows which");
  }
  // Only flags are left: every other option takes any text.
  const size_t flag = text.find('-');
  throw Error(ErrorKind::kUsage,
              flag == text.npos
                  ? "command line"
                  : text.substr(flag, text.find(' ', flag) - flag),
              flag == text.npos ? text : "takes no value", help + " may help");
}

// Returns true when help was asked for.
bool ParseWith(CLI::App& app, const Arguments& arguments,
               const std::string& help) {
  // CLI11 wants them last first.
  Arguments reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
    return false;
  } catch (const CLI::CallForHelp&) {
    return true;
  } catch (const CLI::ParseError& error) {
    for (const std::string& argument : app.remaining()) {
      if (argument != "--") ThrowUnexpected(app, help, argument);
    }
    ThrowParseError(error, help);
  }
}

const Command& FindCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Command* command : Commands()) {
    if (command->name == name) return *command;
    names.emplace_back(command->name);
  }
  const std::string nearest = Nearest(name, names);
  throw Error(ErrorKind::kUsage, "'" + name + "'", "unknown command",
              nearest.empty() ? "the commands are " + Join(names)
                              : "did you mean " + nearest + "?");
}

void PrepareApp(CLI::App& app, CommonOptions& common) {
  app.set_help_flag();
  app.set_help_flag("-h,--help", "print this page")->group(kCommonGroup);
  AddCommonOptions(app, common);
}

// Common options before the command; returns the rest.
Arguments ParseProgram(const Arguments& arguments, int width, Parsed& parsed) {
  CLI::App app;
  app.prefix_command();
  bool version = false;
  AddFlag(app, "--version", version, "print the version");
  PrepareApp(app, parsed.common);
  const std::string help = "regard --help";
  if (ParseWith(app, arguments, help) || arguments.empty()) {
    parsed.page = ProgramHelp(app, width);
    return {};
  }
  if (version) {
    parsed.page = "regard " REGARD_VERSION "\n";
    return {};
  }
  Arguments rest = app.remaining();
  if (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-') {
    ThrowUnexpected(app, help, rest[0]);
  }
  if (rest.empty()) {
    throw Error(ErrorKind::kUsage, "command line", "no command was given",
                help + " lists them");
  }
  return rest;
}

}  // namespace

Parsed ParseArguments(Arguments arguments, int width) {
  Parsed parsed;
  // `regard help map` is what many type first.
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  Arguments rest = ParseProgram(SplitEmptyValues(arguments), width, parsed);
  if (!parsed.page.empty()) return parsed;
  const Command& command = FindCommand(rest[0]);
  rest.erase(rest.begin());

  CLI::App app;
  parsed.run = command.setup(app);
  PrepareApp(app, parsed.common);
  if (ParseWith(app, rest, std::string("regard ") + command.name + " --help")) {
    parsed.page = CommandHelp(command, app, width);
  }
  return parsed;
}

bool AsksForJson(const Arguments& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

}  // namespace regard::inline v0
