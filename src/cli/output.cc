#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/strings.h"
#include "cli/options.h"
#include "cli/text_layout.h"
#include "io/file.h"
#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {

std::optional<int64_t> ParseByteSize(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::optional<double> number = ParseReal(text.substr(0, digits));
  std::string_view unit =
      digits == text.npos ? std::string_view() : text.substr(digits);
  if (unit.ends_with('B')) unit.remove_suffix(1);
  double base = 1000;
  if (unit.size() == 2 && unit[1] == 'i') {
    base = 1024;
    unit.remove_suffix(1);
  }
  constexpr std::string_view kUnits = "kMGT";
  size_t power = 0;
  if (unit == "K") unit = "k";
  if (!unit.empty()) {
    power = unit.size() == 1 ? kUnits.find(unit) + 1 : 0;
    if (power == 0) return std::nullopt;
  }
  if (!number) return std::nullopt;
  const double bytes = *number * std::pow(base, static_cast<double>(power));
  constexpr double kLargest = 9e18;  // below 2^63
  if (!(bytes >= 0 && bytes <= kLargest)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

void AddOutputOptions(CLI::App& app, OutputOptions& options,
                      const std::vector<std::string>& formats) {
  AddText(app, "-o,--output", "FILE", options.path,
          "write there (- is stdout); the extension tells the format");
  AddChoice(app, "--format", options.format, formats,
            "the format, whatever the extension");
  std::function<void(const std::string&)> take = [&options](
                                                     const std::string& text) {
    const std::optional<int64_t> size = ParseByteSize(text);
    if (!size) {
      throw Error(ErrorKind::kUsage, "--max-size",
                  "'" + text + "' is not a size", "write it as 256M or 1.5G");
    }
    options.max_size = *size;
  };
  app.add_option_function<std::string>("--max-size", take,
                                       "largest file to write (default: 256M)")
      ->type_name("SIZE");
}

std::string OutputFormat(const OutputOptions& options,
                         const std::vector<std::string>& formats) {
  const std::string path = options.path.value_or("-");
  if (path.empty()) {
    throw Error(ErrorKind::kUsage, "-o", "the name of the file is empty",
                "give one, or - for stdout");
  }
  if (options.format) return *options.format;
  std::string extension =
      path == "-" ? "" : std::filesystem::path(path).extension().string();
  if (!extension.empty()) extension.erase(0, 1);
  for (const std::string& format : formats) {
    if (extension == format) return format;
  }
  throw Error(ErrorKind::kUsage, path == "-" ? "-o -" : path,
              extension.empty() ? "no extension tells the format"
                                : "unknown format ." + extension,
              "choose --format " + Join(formats, "|"));
}

void RequireSize(const OutputOptions& options, int64_t bytes,
                 const std::string& hint) {
  if (bytes <= options.max_size) return;
  throw Error(ErrorKind::kSize, "output",
              "it would take " + ByteSizeText(bytes) + ", above the limit of " +
                  ByteSizeText(options.max_size),
              hint + ", or raise --max-size");
}

void RequireWritable(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status =
      std::filesystem::status(path, ignored);
  // Opening a pipe or a device could wait for its reader.
  if (path == "-" || (std::filesystem::exists(status) &&
                      !std::filesystem::is_regular_file(status) &&
                      !std::filesystem::is_directory(status))) {
    return;
  }
  FileWriter probe(path);
}

void ReportWritten(Context& context, const std::string& path,
                   const std::string& format) {
  if (path == "-") return;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  context.console.Note(
      "wrote " + path +
      (error ? "" : ", " + ByteSizeText(static_cast<int64_t>(size))));
  if (!context.common.json) return;
  Json receipt;
  receipt.Set("wrote", path);
  receipt.Set("format", format);
  receipt.Set("bytes", error ? Json() : Json(static_cast<int64_t>(size)));
  context.console.PrintJson(receipt);
}

}  // namespace regard::inline v0
