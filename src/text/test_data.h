// For tests: where the goldens and the real model are.
#ifndef REGARD_SRC_TEXT_TEST_DATA_H_
#define REGARD_SRC_TEXT_TEST_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "io/file.h"

namespace regard::inline v0 {

inline std::string GoldenPath(const std::string& name) {
  return std::string(REGARD_SOURCE_DIR "/tests/golden/tokenizer/") + name;
}

inline std::vector<std::string> GoldenLines(const std::string& name) {
  std::istringstream stream(ReadText(GoldenPath(name)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// tokenizer.json of all-minilm-l6-v2, where `./dev model` or REGARD_MODELS
// put it.
inline std::optional<std::string> RealTokenizerPath() {
  std::vector<std::string> folders;
  if (const char* models = std::getenv("REGARD_MODELS")) {
    std::istringstream stream(models);
    for (std::string folder; std::getline(stream, folder, ':');) {
      folders.push_back(folder);
    }
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') {
    folders.push_back(std::string(cache) + "/regard/models");
  } else if (home != nullptr) {
    folders.push_back(std::string(home) + "/.cache/regard/models");
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/all-minilm-l6-v2/tokenizer.json";
    if (std::filesystem::exists(path)) return path;
  }
  return std::nullopt;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_TEST_DATA_H_
