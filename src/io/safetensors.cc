#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "io/file.h"
#include "io/json.h"
#include "io/packed.h"
#include "io/safetensors_format.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard::inline v0 {

struct SafeTensors::State {
  std::string name;  // stands in messages
  std::vector<MappedFile> files;
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  // Copies of what is not aligned in its file, made when first asked for.
  std::mutex mutex;
  std::map<std::string, Tensor, std::less<>> copies;
};

namespace {

bool ByName(const SafeTensors::Entry& a, const SafeTensors::Entry& b) {
  return a.name < b.name;
}

const SafeTensors::Entry* FindIn(const std::vector<SafeTensors::Entry>& entries,
                                 std::string_view name) {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const SafeTensors::Entry& entry, std::string_view wanted) {
        return entry.name < wanted;
      });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

// The shards are files beside the index: a name that leads elsewhere could make
// a downloaded checkpoint read any file of its user.
void CheckShardName(const std::string& index, const std::string& shard) {
  if (shard.empty() || shard == "." || shard == ".." ||
      shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
    throw Error(ErrorKind::kFormat, index,
                fmt::format("names the shard \"{}\", which is no plain file "
                            "name",
                            shard),
                "shards lie beside their index; do not trust this checkpoint");
  }
}

// shard -> its tensors.
std::map<std::string, std::set<std::string>> ReadIndex(
    const std::string& path) {
  const Json index = Json::Parse(ReadText(path), path);
  const Json* map = index.Find("weight_map");
  if (map == nullptr) {
    throw Error(ErrorKind::kFormat, path, "has no weight_map",
                "give a .safetensors file or the index of its shards");
  }
  if (const auto twice = map->DuplicateKey()) {
    throw Error(ErrorKind::kFormat, path,
                fmt::format("tensor {} stands twice in weight_map", *twice));
  }
  std::map<std::string, std::set<std::string>> shards;
  for (const auto& [tensor, file] : map->AsObject(path + ": weight_map")) {
    const std::string& shard =
        file.AsString(fmt::format("{}: weight_map: {}", path, tensor));
    CheckShardName(path, shard);
    shards[shard].insert(tensor);
  }
  return shards;
}

MappedFile OpenShard(const std::string& index, const std::string& path) {
  try {
    return MappedFile::Open(path);
  } catch (const Error& error) {
    throw Error(ErrorKind::kFile, index,
                fmt::format("names the shard {}, which {}", error.subject(),
                            error.reason()),
                "fetch all files of the checkpoint");
  }
}

// C++ reads a bool whose byte is neither 0 nor 1 as it likes.
bool UsableInPlace(const SafeTensors::Entry& entry, DType dtype) {
  if (dtype == DType::kBool) {
    const auto* bytes = static_cast<const uint8_t*>(entry.data);
    return std::all_of(bytes, bytes + entry.bytes,
                       [](uint8_t byte) { return byte <= 1; });
  }
  return std::bit_cast<uintptr_t>(entry.data) % ItemSize(dtype) == 0;
}

Tensor CopyOf(const SafeTensors::Entry& entry, DType dtype) {
  Tensor copy(dtype, entry.shape);
  auto* bytes = static_cast<uint8_t*>(copy.mutable_view().mutable_data());
  if (entry.bytes > 0) std::memcpy(bytes, entry.data, entry.bytes);
  if (dtype == DType::kBool) {
    for (size_t i = 0; i < entry.bytes; ++i) bytes[i] = bytes[i] != 0;
  }
  return copy;
}

}  // namespace

SafeTensors::SafeTensors(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
SafeTensors::~SafeTensors() = default;
SafeTensors::SafeTensors(SafeTensors&&) noexcept = default;
SafeTensors& SafeTensors::operator=(SafeTensors&&) noexcept = default;

SafeTensors SafeTensors::Open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path;
  if (!path.ends_with(".json")) {
    state->files.push_back(MappedFile::Open(path));
    SafeTensorsContent content =
        ParseSafeTensors(state->files.back().bytes(), path);
    state->entries = std::move(content.entries);
    state->metadata = std::move(content.metadata);
    return SafeTensors(std::move(state));
  }
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const auto& [shard, tensors] : ReadIndex(path)) {
    const std::string shard_path = folder + shard;
    state->files.push_back(OpenShard(path, shard_path));
    SafeTensorsContent content =
        ParseSafeTensors(state->files.back().bytes(), shard_path);
    for (const std::string& tensor : tensors) {
      const Entry* entry = FindIn(content.entries, tensor);
      if (entry == nullptr) {
        throw Error(ErrorKind::kFormat, path,
                    fmt::format("places tensor {} in {}, which does not hold "
                                "it",
                                tensor, shard),
                    "index and shards do not belong together, fetch them "
                    "again");
      }
      state->entries.push_back(*entry);
    }
    state->metadata.merge(content.metadata);
  }
  std::sort(state->entries.begin(), state->entries.end(), ByName);
  return SafeTensors(std::move(state));
}

const std::vector<SafeTensors::Entry>& SafeTensors::entries() const {
  return state_->entries;
}

const SafeTensors::Entry* SafeTensors::Find(std::string_view name) const {
  return FindIn(state_->entries, name);
}

const std::map<std::string, std::string>& SafeTensors::metadata() const {
  return state_->metadata;
}

TensorView SafeTensors::Get(std::string_view name) const {
  const Entry* entry = Find(name);
  if (entry == nullptr) {
    throw Error(ErrorKind::kFormat, state_->name,
                fmt::format("there is no tensor {} in it", name),
                fmt::format("it holds {} others", state_->entries.size()));
  }
  const std::optional<DType> dtype = FindSafeTensorsType(entry->dtype)->dtype;
  if (!dtype) {
    throw Error(
        ErrorKind::kUnsupported, state_->name,
        fmt::format("type {} is not supported, tensor {}", entry->dtype, name),
        "convert it to F32, F16 or BF16");
  }
  if (UsableInPlace(*entry, *dtype)) {
    return {entry->data, *dtype, entry->shape};
  }
  const std::lock_guard<std::mutex> lock(state_->mutex);
  auto found = state_->copies.find(name);
  if (found == state_->copies.end()) {
    found = state_->copies.emplace(entry->name, CopyOf(*entry, *dtype)).first;
  }
  return found->second.view();
}

}  // namespace regard::inline v0
