// How commands declare options. CLI11 parses; what it would read in surprising
// ways is kept away from it here:
//   - a list option would take "[CLS]" for a list and swallow the TEXT that
//     follows: lists are repeated options with one value each;
//   - numbers would be read in any C notation (010 is 8): they are read here;
//   - an optional would lose an empty value, and a forgotten value would
//     swallow the next option.
#ifndef REGARD_SRC_CLI_OPTIONS_H_
#define REGARD_SRC_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace regard::inline v0 {

// `name`: "TEXT" (a positional), "--from", "-o,--output"; `value`: how help
// calls the value.
void AddText(CLI::App& app, const std::string& name, const std::string& value,
             std::optional<std::string>& target, const std::string& help);
// May be given several times, each with one value.
void AddTexts(CLI::App& app, const std::string& name, const std::string& value,
              std::vector<std::string>& target, const std::string& help);
void AddFlag(CLI::App& app, const std::string& name, bool& target,
             const std::string& help);
// A whole number from `least` to `most`.
void AddInteger(CLI::App& app, const std::string& name,
                const std::string& value, std::optional<int64_t>& target,
                const std::string& help, int64_t least,
                int64_t most = std::numeric_limits<int64_t>::max());
// A finite number.
void AddReal(CLI::App& app, const std::string& name, const std::string& value,
             std::optional<double>& target, const std::string& help);
// One of `choices`.
void AddChoice(CLI::App& app, const std::string& name,
               std::optional<std::string>& target,
               const std::vector<std::string>& choices,
               const std::string& help);

// --json, --quiet, --color, --threads; help shows them under this heading.
inline constexpr char kCommonGroup[] = "Options of every command";
void AddCommonOptions(CLI::App& app, CommonOptions& common);

struct TextOptions {
  std::optional<std::string> text, pair, file;
  bool truncate = false;
};
// TEXT, --pair, --file.
void AddTextSource(CLI::App& app, TextOptions& options);
// The same and --truncate.
void AddTextOptions(CLI::App& app, TextOptions& options);

struct TextInput {
  std::string text;
  std::optional<std::string> pair;
};
// The text itself ("-" is stdin, one final newline of a file is dropped). Error
// (kUsage) when none or both of TEXT and --file are given.
TextInput ReadTextInput(const TextOptions& options);

// A whole number that is the whole of `text`; nothing when it isn't.
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<double> ParseReal(std::string_view text);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_OPTIONS_H_
