#include "cli/map/later.h"

#include <algorithm>
#include <filesystem>

#include "regard/error.h"

namespace regard::inline v0 {

namespace {

void Refuse(bool asked, const std::string& what, const std::string& hint) {
  if (!asked) return;
  throw Error(ErrorKind::kUsage, what, "comes in a later version", hint);
}

// The format that is asked for, by name or by the extension.
std::string AskedFormat(const OutputOptions& output) {
  if (output.format) return *output.format;
  const std::string extension =
      std::filesystem::path(output.path.value_or("")).extension().string();
  return extension.empty() ? "" : extension.substr(1);
}

}  // namespace

const std::vector<std::string>& LaterMapFormats() {
  static const std::vector<std::string> formats = {"pdf", "graphml"};
  return formats;
}

void RefuseLaterMapOptions(const MapOptions& options) {
  Refuse(options.words, "--words", "leave it out: tokens are shown");
  Refuse(options.view == "arcs", "--view arcs", "use --view heat");
  Refuse(options.theme.has_value(), "--theme", "leave it out");
  Refuse(options.save.has_value(), "--save", "leave it out");
  const std::string format = AskedFormat(options.output);
  const std::vector<std::string>& formats = LaterMapFormats();
  const bool later =
      std::find(formats.begin(), formats.end(), format) != formats.end();
  Refuse(later, "the format " + format,
         format == "pdf" ? "use svg or png" : "use csv, json or npz");
}

}  // namespace regard::inline v0
