#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/strings.h"
#include "io/file.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

// CLI11 hands the next argument over whatever it is.
void RejectOptionAsValue(const CLI::App& app, const std::string& name,
                         const std::string& value) {
  const bool positional = name[0] != '-';
  if (!positional && value.size() > 1 && value[0] == '-' &&
      app.get_option_no_throw(value) != nullptr) {
    throw Error(ErrorKind::kUsage, name,
                "needs a value, and the option " + value + " follows",
                "give the value first");
  }
}

// "-o,--output" is "--output" in messages.
std::string MessageName(const std::string& name) {
  const size_t comma = name.find(',');
  return comma == std::string::npos ? name : name.substr(comma + 1);
}

template <typename Use>
CLI::Option* AddValue(CLI::App& app, const std::string& name,
                      const std::string& value, const std::string& help,
                      Use use) {
  std::function<void(const std::string&)> take =
      [&app, use, label = MessageName(name)](const std::string& text) {
        RejectOptionAsValue(app, label, text);
        use(label, text);
      };
  return app.add_option_function<std::string>(name, take, help)
      ->type_name(value);
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T number{};
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return number;
}

CLI::Option* AddFlagOption(CLI::App& app, const std::string& name, bool& target,
                           const std::string& help) {
  return app.add_flag_callback(
      name, [&target] { target = true; }, help);
}

}  // namespace

std::optional<int64_t> ParseInteger(std::string_view text) {
  return ParseWhole<int64_t>(text);
}

std::optional<double> ParseReal(std::string_view text) {
  const std::optional<double> number = ParseWhole<double>(text);
  if (number && !std::isfinite(*number)) return std::nullopt;
  return number;
}

void AddText(CLI::App& app, const std::string& name, const std::string& value,
             std::optional<std::string>& target, const std::string& help) {
  AddValue(app, name, value, help,
           [&target](const std::string&, const std::string& text) {
             target = text;
           });
}

void AddTexts(CLI::App& app, const std::string& name, const std::string& value,
              std::vector<std::string>& target, const std::string& help) {
  std::function<void(const std::vector<std::string>&)> take =
      [&app, &target, name](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          RejectOptionAsValue(app, name, text);
        }
        target = texts;
      };
  app.add_option_function<std::vector<std::string>>(name, take, help)
      ->type_name(value)
      ->allow_extra_args(false);
}

void AddFlag(CLI::App& app, const std::string& name, bool& target,
             const std::string& help) {
  AddFlagOption(app, name, target, help);
}

void AddInteger(CLI::App& app, const std::string& name,
                const std::string& value, std::optional<int64_t>& target,
                const std::string& help, int64_t least, int64_t most) {
  AddValue(app, name, value, help,
           [&target, least, most](const std::string& label,
                                  const std::string& text) {
             target = ParseInteger(text);
             if (target && *target >= least && *target <= most) return;
             const bool open = most == std::numeric_limits<int64_t>::max();
             const std::string rule =
                 open ? "of at least " + std::to_string(least)
                      : "from " + std::to_string(least) + " to " +
                            std::to_string(most);
             throw Error(ErrorKind::kUsage, label,
                         "'" + text + "' is not a whole number " + rule);
           });
}

void AddReal(CLI::App& app, const std::string& name, const std::string& value,
             std::optional<double>& target, const std::string& help) {
  AddValue(app, name, value, help,
           [&target](const std::string& label, const std::string& text) {
             target = ParseReal(text);
             if (target) return;
             throw Error(ErrorKind::kUsage, label,
                         "'" + text + "' is not a finite number");
           });
}

void AddChoice(CLI::App& app, const std::string& name,
               std::optional<std::string>& target,
               const std::vector<std::string>& choices,
               const std::string& help) {
  AddValue(
      app, name, Join(choices, "|"), help,
      [&target, choices](const std::string& label, const std::string& text) {
        for (const std::string& choice : choices) {
          if (choice == text) {
            target = text;
            return;
          }
        }
        const std::string nearest = Nearest(text, choices);
        throw Error(ErrorKind::kUsage, label,
                    "'" + text + "' is not one of " + Join(choices),
                    nearest.empty() ? "" : "did you mean " + nearest + "?");
      });
}

void AddCommonOptions(CLI::App& app, CommonOptions& common) {
  AddFlagOption(app, "--json", common.json, "print JSON")->group(kCommonGroup);
  AddFlagOption(app, "--quiet", common.quiet,
                "no notes and no progress on stderr")
      ->group(kCommonGroup);
  AddValue(app, "--color", "auto|always|never",
           "colours in the terminal (auto: when it is one and NO_COLOR is not "
           "set)",
           [&common](const std::string& label, const std::string& text) {
             if (text == "auto") {
               common.color = ColorMode::kAuto;
             } else if (text == "always") {
               common.color = ColorMode::kAlways;
             } else if (text == "never") {
               common.color = ColorMode::kNever;
             } else {
               throw Error(ErrorKind::kUsage, label,
                           "'" + text + "' is not one of auto, always, never");
             }
           })
      ->group(kCommonGroup);
  AddValue(app, "--threads", "N", "threads to use (default: all cores)",
           [&common](const std::string& label, const std::string& text) {
             const std::optional<int64_t> threads = ParseInteger(text);
             if (!threads || *threads < 1 ||
                 *threads > std::numeric_limits<int>::max()) {
               throw Error(
                   ErrorKind::kUsage, label,
                   "'" + text + "' is not a whole number of at least 1");
             }
             common.threads = static_cast<int>(*threads);
           })
      ->group(kCommonGroup);
}

void AddTextSource(CLI::App& app, TextOptions& options) {
  AddText(app, "TEXT", "", options.text, "the text; - reads it from stdin");
  AddText(app, "--pair", "TEXT", options.pair, "a second sentence");
  AddText(app, "--file", "F", options.file,
          "read the text from a file (one final newline is dropped)");
}

void AddTextOptions(CLI::App& app, TextOptions& options) {
  AddTextSource(app, options);
  AddFlag(app, "--truncate", options.truncate,
          "cut a text that is too long on the right (of a pair: the longer one "
          "first)");
}

namespace {

std::string ReadWithoutFinalNewline(const std::string& path) {
  std::string text = ReadText(path);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

TextInput ReadTextInput(const TextOptions& options) {
  if (options.text && options.file) {
    throw Error(ErrorKind::kUsage, "text", "given twice, as TEXT and by --file",
                "leave one of them out");
  }
  if (!options.text && !options.file) {
    throw Error(ErrorKind::kUsage, "text", "none was given",
                "add it in quotes, or name a file with --file");
  }
  TextInput input;
  if (options.file) {
    input.text = ReadWithoutFinalNewline(*options.file);
  } else if (*options.text == "-") {
    input.text = ReadWithoutFinalNewline("-");
  } else {
    input.text = *options.text;
  }
  input.pair = options.pair;
  return input;
}

}  // namespace regard::inline v0
