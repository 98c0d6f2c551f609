// What the tests of the models share.
#ifndef REGARD_SRC_MODEL_TEST_SUPPORT_H_
#define REGARD_SRC_MODEL_TEST_SUPPORT_H_

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "regard/tensor.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

// An encoding of nothing but ids and segments.
inline Encoding EncodingOf(const std::vector<int64_t>& ids,
                           const std::vector<int64_t>& segments = {}) {
  Encoding encoding;
  for (size_t i = 0; i < ids.size(); ++i) {
    Token token;
    token.id = ids[i];
    if (!segments.empty()) token.segment = static_cast<int>(segments[i]);
    encoding.tokens.push_back(token);
  }
  return encoding;
}

inline std::vector<int64_t> Int64s(const TensorView& view) {
  const Tensor values = Tensor::CopyOf(view);
  const int64_t* const data = values.As<int64_t>();
  return std::vector<int64_t>(data, data + values.NumElements());
}

// The directory of an installed model, or "" when it isn't there
// (`./dev model NAME` brings it).
inline std::string FindModel(const std::string& name) {
  std::vector<std::string> folders;
  if (const char* list = std::getenv("REGARD_MODELS")) {
    std::string rest = list;
    for (size_t colon; (colon = rest.find(':')) != std::string::npos;) {
      folders.push_back(rest.substr(0, colon));
      rest.erase(0, colon + 1);
    }
    folders.push_back(rest);
  }
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    folders.push_back(std::string(cache) + "/regard/models");
  }
  if (const char* home = std::getenv("HOME")) {
    folders.push_back(std::string(home) + "/.cache/regard/models");
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (std::filesystem::exists(path + "/model.safetensors")) return path;
  }
  return "";
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_MODEL_TEST_SUPPORT_H_
