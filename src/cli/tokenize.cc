// regard tokenize: ids, pieces and offsets of a text.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/display_width.h"
#include "base/utf8.h"
#include "cli/model/find_model.h"
#include "cli/model/load_tokenizer.h"
#include "cli/options.h"
#include "io/file.h"
#include "io/json.h"
#include "regard/error.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

namespace {

struct Options {
  TextOptions text;
  bool lines = false;
  std::optional<std::string> model;
};

Json AsJson(const Encoding& encoding) {
  Json::Array ids, pieces, offsets, segments, special;
  for (const Token& token : encoding.tokens) {
    ids.push_back(token.id);
    pieces.push_back(token.piece);
    offsets.push_back(Json::Array{token.begin, token.end});
    segments.push_back(token.segment);
    special.push_back(token.special);
  }
  Json out;
  out.Set("ids", std::move(ids));
  out.Set("pieces", std::move(pieces));
  out.Set("offsets", std::move(offsets));
  out.Set("segments", std::move(segments));
  out.Set("special", std::move(special));
  return out;
}

// Code points [begin, end).
std::string Excerpt(std::string_view text, int64_t begin, int64_t end) {
  size_t position = 0, from = 0;
  for (int64_t i = 0; i < end && position < text.size(); ++i) {
    if (i == begin) from = position;
    NextCodePoint(text, position);
  }
  return begin < end ? std::string(text.substr(from, position - from)) : "";
}

using Rows = std::vector<std::vector<std::string>>;

Rows TableOf(const Encoding& encoding) {
  const bool pair = encoding.texts.size() > 1;
  Rows rows = {{"token", "id", "piece", "offsets", "text"}};
  if (pair) rows[0].insert(rows[0].begin() + 3, "segment");
  for (size_t i = 0; i < encoding.tokens.size(); ++i) {
    const Token& token = encoding.tokens[i];
    std::vector<std::string> row = {std::to_string(i), std::to_string(token.id),
                                    VisibleText(token.piece), "", ""};
    if (token.sentence >= 0) {
      row[3] = std::to_string(token.begin) + "-" + std::to_string(token.end);
      row[4] = VisibleText(
          Excerpt(encoding.texts[static_cast<size_t>(token.sentence)],
                  token.begin, token.end));
    }
    if (pair) row.insert(row.begin() + 3, std::to_string(token.segment));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Aligned(const Rows& rows) {
  std::vector<int> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  constexpr size_t kNumbers = 2;  // columns that are set to the right
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < kNumbers ? PadLeft(row[i], widths[i])
                           : PadRight(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string TabSeparated(const Rows& rows) {
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += (i > 0 ? "\t" : "") + row[i];
    }
    out += "\n";
  }
  return out;
}

// "101 2009 102<tab>[CLS] it [SEP]"
std::string AsOneLine(const Encoding& encoding) {
  std::string ids, pieces;
  for (const Token& token : encoding.tokens) {
    ids += (ids.empty() ? "" : " ") + std::to_string(token.id);
    pieces += (pieces.empty() ? "" : " ") + VisibleText(token.piece);
  }
  return ids + "\t" + pieces + "\n";
}

// Prints encodings, and says once that a text was repaired.
class Printer {
 public:
  explicit Printer(Context& context, bool lines)
      : context_(context), lines_(lines) {}

  void Print(const Encoding& encoding) {
    if (encoding.repaired && !std::exchange(said_repaired_, true)) {
      NoteRepaired(encoding, context_.console);
    }
    Console& console = context_.console;
    if (context_.common.json) {
      console.PrintJson(AsJson(encoding));
    } else if (lines_) {
      console.Print(AsOneLine(encoding));
    } else if (console.is_terminal()) {
      console.Print(Aligned(TableOf(encoding)));
    } else {
      console.Print(TabSeparated(TableOf(encoding)));
    }
  }

 private:
  Context& context_;
  const bool lines_;
  bool said_repaired_ = false;
};

// Each line of the file, without its end.
void TokenizeLines(const Tokenizer& tokenizer, const Options& options,
                   Context& context) {
  const std::string text = ReadText(*options.text.file);
  // On a terminal the results themselves show how far it is.
  const size_t counted = context.console.is_terminal() ? 0 : text.size();
  Progress progress(context.console, "tokenize", static_cast<int64_t>(counted));
  Printer printer(context, /*lines=*/true);
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    printer.Print(tokenizer.Encode(line, options.text.pair));
    progress.Add(static_cast<int64_t>(std::min(end + 1, rest.size())));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void Run(const Options& options, Context& context) {
  if (options.lines && !options.text.file) {
    throw Error(ErrorKind::kUsage, "--lines", "there is no file",
                "name it with --file (- is stdin)");
  }
  if (options.lines) {
    if (options.text.text) ReadTextInput(options.text);
    TokenizeLines(LoadTokenizer(options.model), options, context);
    return;
  }
  const TextInput input = ReadTextInput(options.text);
  const Tokenizer tokenizer = LoadTokenizer(options.model);
  Printer(context, /*lines=*/false)
      .Print(tokenizer.Encode(input.text, input.pair));
}

std::function<void(Context&)> Setup(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  AddTextSource(app, options->text);
  AddFlag(app, "--lines", options->lines,
          "one result per line of --file (with --json: JSON lines)");
  AddModelOption(app, options->model);
  return [options](Context& context) { Run(*options, context); };
}

}  // namespace

extern const Command kTokenizeCommand;
const Command kTokenizeCommand = {
    "tokenize", "ids, pieces and offsets of a text",
    "regard tokenize \"The animal didn't cross the street.\"", Setup};

}  // namespace regard::inline v0
