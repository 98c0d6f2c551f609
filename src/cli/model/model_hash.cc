#include "cli/model/model_hash.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "cli/model/find_model.h"
#include "io/file.h"
#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace fs = std::filesystem;

namespace {

// Changes whenever the file does; "" when it can't be told.
std::string Fingerprint(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "";
  const auto time = [](const timespec& t) {
    return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec);
  };
  return std::to_string(status.st_size) + " " + time(status.st_mtim) + " " +
         time(status.st_ctim) + " " + std::to_string(status.st_dev) + " " +
         std::to_string(status.st_ino) + " " + path;
}

// One small file per path, so that two programs never rewrite the same list.
std::string CachePath(const std::string& path) {
  const std::string folder = CacheFolder();
  if (folder.empty()) return "";
  return folder + "/sha256/" + Sha256Hex(path.data(), path.size());
}

constexpr size_t kDigits = 64;

// "" when it is not known.
std::string Recall(const std::string& cache, const std::string& fingerprint) {
  constexpr size_t kLimit = 1 << 16;
  try {
    const std::string line = ReadText(cache, kLimit);
    if (line.size() != kDigits + 2 + fingerprint.size() ||
        line.substr(kDigits + 1) != fingerprint + "\n" ||
        line.find_first_not_of("0123456789abcdef") != kDigits) {
      return "";
    }
    return line.substr(0, kDigits);
  } catch (const Error&) {
    return "";
  }
}

void Remember(const std::string& cache, const std::string& fingerprint,
              const std::string& sha256) {
  try {
    std::error_code ignored;
    fs::create_directories(fs::path(cache).parent_path(), ignored);
    WriteFile(cache, sha256 + " " + fingerprint + "\n");
  } catch (const Error&) {
    // Then it is computed again next time.
  }
}

}  // namespace

std::string FileSha256(const std::string& path, bool verify) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  const std::string real = error ? path : canonical.string();
  const std::string fingerprint = Fingerprint(real);
  const std::string cache = fingerprint.empty() ? "" : CachePath(real);
  if (!verify && !cache.empty()) {
    std::string known = Recall(cache, fingerprint);
    if (!known.empty()) return known;
  }
  const MappedFile file = MappedFile::Open(real);
  std::string sha256 = Sha256Hex(file.data(), file.size());
  // A file that changed meanwhile is not remembered.
  if (!cache.empty() && Fingerprint(real) == fingerprint) {
    Remember(cache, fingerprint, sha256);
  }
  return sha256;
}

std::string WeightsSha256(const std::string& weights_path, bool verify) {
  const fs::path path(weights_path);
  if (path.extension() != ".json") return FileSha256(weights_path, verify);
  std::map<std::string, std::string> hashes;
  hashes[path.filename().string()] = FileSha256(weights_path, verify);
  const Json index = Json::Parse(ReadText(weights_path), weights_path);
  const std::string where = weights_path + ": weight_map";
  const Json* map = index.Find("weight_map");
  if (map == nullptr) {
    throw Error(ErrorKind::kFormat, weights_path, "has no weight_map");
  }
  for (const auto& [tensor, shard] : map->AsObject(where)) {
    const std::string& name = shard.AsString(where);
    if (hashes.contains(name)) continue;
    hashes[name] = FileSha256((path.parent_path() / name).string(), verify);
  }
  std::string lines;
  for (const auto& [name, hash] : hashes) lines += hash + "  " + name + "\n";
  return Sha256Hex(lines.data(), lines.size());
}

}  // namespace regard::inline v0
