#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/display_width.h"
#include "cli/options.h"
#include "cli/text_layout.h"

namespace regard::inline v0 {

namespace {

// Lines longer than this are hard to read on the widest terminal.
constexpr int kWidest = 100;

std::string Left(const CLI::Option& option) {
  std::string left = option.get_positional() ? option.get_name(true)
                                             : option.get_name(false, true);
  for (size_t at = 0; (at = left.find(',', at)) != std::string::npos; at += 2) {
    left.insert(at + 1, " ");
  }
  const std::string value = option.get_type_name();
  if (!option.get_positional() && option.get_items_expected_max() > 0 &&
      !value.empty()) {
    left += " " + value;
  }
  return left;
}

// Two columns; the second begins on a line of its own when the first is long.
std::string Entry(const std::string& left, const std::string& right,
                  int width) {
  constexpr int kIndent = 2, kColumn = 24;
  std::string line(kIndent, ' ');
  line += left;
  const int used = kIndent + DisplayWidth(left);
  if (used + 2 > kColumn) {
    line += '\n';
    line.append(kColumn, ' ');
  } else {
    line.append(static_cast<size_t>(kColumn - used), ' ');
  }
  return line + Wrapped(right, std::min(width, kWidest), kColumn) + "\n";
}

std::string Positionals(const CLI::App& app, int width) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    out += Entry(Left(*option), option->get_description(), width);
  }
  return out.empty() ? out : out + "\n";
}

// The options of the app itself, then those that every command has.
std::string Options(const CLI::App& app, int width) {
  std::string own, common;
  for (const CLI::Option* option : app.get_options()) {
    // CLI11 calls an option without a group hidden.
    if (option->get_positional() || option->get_group().empty()) continue;
    (option->get_group() == kCommonGroup ? common : own) +=
        Entry(Left(*option), option->get_description(), width);
  }
  if (!own.empty()) own = "Options:\n" + own + "\n";
  return own + kCommonGroup + ":\n" + common;
}

// A line that begins at the left edge.
std::string Line(const std::string& text, int width) {
  return Wrapped(text, std::min(width, kWidest), 0) + "\n";
}

}  // namespace

std::string ProgramHelp(const CLI::App& app, int width) {
  std::string out =
      Line("regard shows who looks at whom inside a transformer model.",
           width) +
      "\nUsage: regard COMMAND [options]\n\nCommands:\n";
  for (const Command* command : Commands()) {
    out += Entry(command->name, command->summary, width);
  }
  out += "\n" + Options(app, width);
  out += "\nExample:\n  " + std::string(Commands().front()->example) + "\n\n";
  return out +
         Line("`regard COMMAND --help` says more about a command.", width);
}

std::string CommandHelp(const Command& command, const CLI::App& app,
                        int width) {
  const std::string name = std::string("regard ") + command.name;
  std::string usage = "Usage: " + name;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) usage += " [" + option->get_name(true) + "]";
  }
  std::string out = Line(name + ": " + command.summary, width) + "\n" + usage +
                    " [options]\n\n";
  out += Positionals(app, width) + Options(app, width);
  out += "\nExample:\n  " + std::string(command.example) + "\n";
  return out;
}

}  // namespace regard::inline v0
