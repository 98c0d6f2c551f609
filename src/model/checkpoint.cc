#include "model/checkpoint.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <utility>

#include "io/file.h"

namespace regard::inline v0 {

Config Config::Read(const std::string& path) {
  Config config;
  config.path_ = path;
  // A configuration is a few kilobytes; a megabyte is none.
  config.root_ = Json::Parse(ReadText(path, size_t{1} << 20), path);
  if (!config.root_.IsObject()) {
    throw Error(ErrorKind::kFormat, path, "is no JSON object");
  }
  if (const auto twice = config.root_.DuplicateKey()) {
    throw Error(ErrorKind::kFormat, path,
                fmt::format("\"{}\" stands twice", *twice));
  }
  return config;
}

std::string Config::Where(const std::string& key) const {
  return path_ + ": " + key;
}

const Json* Config::Find(const std::string& key) const {
  const Json* value = root_.Find(key);
  return value == nullptr || value->IsNull() ? nullptr : value;
}

int64_t Config::Count(const std::string& key, int64_t least,
                      std::optional<int64_t> fallback) const {
  const Json* value = Find(key);
  if (value == nullptr) {
    if (fallback) return *fallback;
    throw Error(ErrorKind::kFormat, Where(key), "missing");
  }
  const int64_t count = value->AsInt(Where(key));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (count < least || count > kMost) {
    throw Error(
        ErrorKind::kFormat, Where(key),
        fmt::format("is {}, but has to be from {} to {}", count, least, kMost));
  }
  return count;
}

double Config::Number(const std::string& key, double fallback) const {
  const Json* value = Find(key);
  return value == nullptr ? fallback : value->AsNumber(Where(key));
}

bool Config::Flag(const std::string& key, bool fallback) const {
  const Json* value = Find(key);
  return value == nullptr ? fallback : value->AsBool(Where(key));
}

std::string Config::Text(const std::string& key,
                         const std::string& fallback) const {
  const Json* value = Find(key);
  return value == nullptr ? fallback : value->AsString(Where(key));
}

namespace {

constexpr char kLayout[] =
    "a model directory holds config.json, tokenizer.json and "
    "model.safetensors (or model.safetensors.index.json and its shards)";

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string WeightsPath(const std::string& directory) {
  for (const char* name :
       {"model.safetensors", "model.safetensors.index.json"}) {
    std::string path = directory + "/" + name;
    if (Exists(path)) return path;
  }
  throw Error(ErrorKind::kFile, directory,
              "holds neither model.safetensors nor "
              "model.safetensors.index.json",
              kLayout);
}

}  // namespace

Checkpoint Checkpoint::Open(const std::string& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored)) {
    throw Error(ErrorKind::kFile, directory,
                Exists(directory) ? "is no directory" : "no such directory",
                kLayout);
  }
  const std::string config = directory + "/config.json";
  if (!Exists(config)) {
    throw Error(ErrorKind::kFile, directory, "holds no config.json", kLayout);
  }
  // The configuration first: what it says is wrong is said before a large file
  // is opened.
  Config read = Config::Read(config);
  std::string weights = WeightsPath(directory);
  SafeTensors tensors = SafeTensors::Open(weights);
  return {std::move(read), std::move(weights), std::move(tensors)};
}

}  // namespace regard::inline v0
