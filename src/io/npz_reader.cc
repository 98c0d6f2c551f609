#include "io/npz_reader.h"

#include <fmt/format.h>

#include "io/npy_format.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

NpzReader::NpzReader(std::span<const uint8_t> archive, const std::string& name)
    : name_(name), zip_(archive, name) {
  for (const ZipReader::Member& member : zip_.members()) {
    const std::string_view file = member.name;
    if (!file.ends_with(kSuffix)) continue;
    names_.emplace_back(file.substr(0, file.size() - kSuffix.size()));
  }
}

Tensor NpzReader::Read(std::string_view array) const {
  for (const ZipReader::Member& member : zip_.members()) {
    if (member.name.size() != array.size() + kSuffix.size() ||
        !member.name.starts_with(array) || !member.name.ends_with(kSuffix)) {
      continue;
    }
    return ReadNpy(*zip_.Open(member), fmt::format("{}: {}", name_, array));
  }
  throw Error(ErrorKind::kUsage, name_,
              fmt::format("there is no array {} in it", array));
}

}  // namespace regard::inline v0
