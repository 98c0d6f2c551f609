// Where results are written, in which format, and how large they may be.
#ifndef REGARD_SRC_CLI_OUTPUT_H_
#define REGARD_SRC_CLI_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace regard::inline v0 {

// -o FILE, --format, --max-size.
struct OutputOptions {
  std::optional<std::string> path = {};  // "-" is stdout
  std::optional<std::string> format = {};
  int64_t max_size = 256'000'000;  // bytes
};
void AddOutputOptions(CLI::App& app, OutputOptions& options,
                      const std::vector<std::string>& formats);

// The format by --format, or by the extension of the path. Error (kUsage) with
// the known ones when neither tells one of `formats`.
std::string OutputFormat(const OutputOptions& options,
                         const std::vector<std::string>& formats);

// Error (kSize) when `bytes` is above --max-size; `hint` says how to ask for
// less ("choose heads with --head").
void RequireSize(const OutputOptions& options, int64_t bytes,
                 const std::string& hint);

// Error (kFile) when a file could not be written at `path`; asked before long
// work. Nothing is left there.
void RequireWritable(const std::string& path);

// After a file was written: says so in a note, and prints the receipt with
// --json. Nothing when the output went to stdout.
void ReportWritten(Context& context, const std::string& path,
                   const std::string& format);

// "256M", "1.5G", "4000", "64MiB" in bytes; k, M, G, T are powers of 1000, Ki
// and so on of 1024. Nothing when it can't be read.
std::optional<int64_t> ParseByteSize(std::string_view text);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_OUTPUT_H_
