#include <fmt/format.h>
#include <sys/stat.h>

#include <limits>
#include <utility>

#include "base/strings.h"
#include "io/file.h"
#include "io/npy_format.h"
#include "io/npz_reader.h"
#include "io/packed.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

enum class Format { kNpy, kNpz, kSafeTensors };
struct Extension {
  std::string_view text;
  Format format;
};
constexpr Extension kExtensions[] = {
    {".npy", Format::kNpy},
    {".npz", Format::kNpz},
    {".safetensors", Format::kSafeTensors},
    {".safetensors.index.json", Format::kSafeTensors},
};

struct Spec {
  std::string path;
  Format format;
  std::string name;  // "" when left out
};

bool IsFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

// Both file and array names may hold colons: of the places where a file name
// could end, the first that is a file counts, else the first.
Spec ParseSpec(const std::string& text) {
  std::vector<Spec> candidates;
  for (size_t end = text.find(':');; end = text.find(':', end + 1)) {
    const std::string path = text.substr(0, end);
    for (const Extension& extension : kExtensions) {
      if (!path.ends_with(extension.text)) continue;
      const bool whole = end == std::string::npos;
      candidates.push_back(
          {path, extension.format, whole ? "" : text.substr(end + 1)});
    }
    if (end == std::string::npos) break;
  }
  for (const Spec& spec : candidates) {
    if (IsFile(spec.path)) return spec;
  }
  if (!candidates.empty()) return candidates.front();
  throw Error(ErrorKind::kUsage, text, "no array file by its extension",
              "give x.npy, x.npz:member or x.safetensors:name");
}

// The array that `spec` means among those of its file.
std::string Choose(const Spec& spec, const std::vector<std::string>& names) {
  if (spec.name.empty() && names.size() == 1) return names[0];
  for (const std::string& name : names) {
    if (name == spec.name) return name;
  }
  constexpr size_t kShown = 8;
  std::vector<std::string> shown(
      names.begin(), names.begin() + std::min(names.size(), kShown));
  if (names.size() > kShown) shown.push_back("...");
  const std::string known =
      fmt::format("it holds {}: {}", names.size(), Join(shown));
  if (names.empty()) {
    throw Error(ErrorKind::kUsage, spec.path, "holds no array");
  }
  if (spec.name.empty()) {
    throw Error(ErrorKind::kUsage, spec.path, "which array is meant? " + known,
                fmt::format("name one: {}:{}", spec.path, names[0]));
  }
  const std::string nearest = Nearest(spec.name, names);
  throw Error(
      ErrorKind::kUsage, spec.path,
      fmt::format("there is no array {} in it", spec.name),
      nearest.empty() ? known : fmt::format("did you mean {}?", nearest));
}

Tensor ReadNpyFile(const Spec& spec) {
  if (!spec.name.empty()) {
    throw Error(ErrorKind::kUsage, spec.path,
                fmt::format("there is no array {} in it", spec.name),
                "an .npy file holds one array without a name");
  }
  const MappedFile file = MappedFile::Open(spec.path);
  MemorySource source(file.bytes());
  return ReadNpy(source, spec.path);
}

Tensor ReadNpzFile(const Spec& spec) {
  const MappedFile file = MappedFile::Open(spec.path);
  const NpzReader archive(file.bytes(), spec.path);
  return archive.Read(Choose(spec, archive.names()));
}

std::vector<std::string> NamesOf(const SafeTensors& file) {
  std::vector<std::string> names;
  for (const SafeTensors::Entry& entry : file.entries()) {
    names.push_back(entry.name);
  }
  return names;
}

Tensor ReadSafeTensorsFile(const Spec& spec) {
  const SafeTensors file = SafeTensors::Open(spec.path);
  return Tensor::CopyOf(file.Get(Choose(spec, NamesOf(file))));
}

Tensor ReadStandardInput() {
  const std::string bytes = ReadText("-", std::numeric_limits<int64_t>::max());
  MemorySource source(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return ReadNpy(source, "standard input");
}

}  // namespace

Tensor ReadArray(const std::string& spec_text) {
  if (spec_text == "-") return ReadStandardInput();
  const Spec spec = ParseSpec(spec_text);
  switch (spec.format) {
    case Format::kNpy:
      return ReadNpyFile(spec);
    case Format::kNpz:
      return ReadNpzFile(spec);
    case Format::kSafeTensors:
      return ReadSafeTensorsFile(spec);
  }
  return {};
}

std::vector<std::string> ListArrays(const std::string& path) {
  for (const Extension& extension : kExtensions) {
    if (!path.ends_with(extension.text)) continue;
    if (extension.format == Format::kSafeTensors) {
      return NamesOf(SafeTensors::Open(path));
    }
    const MappedFile file = MappedFile::Open(path);
    if (extension.format == Format::kNpz) {
      return NpzReader(file.bytes(), path).names();
    }
    return {""};
  }
  throw Error(ErrorKind::kUsage, path, "no array file by its extension",
              "give a file ending in .npy, .npz or .safetensors");
}

void WriteNpy(const std::string& path, const TensorView& array) {
  Tensor storage;
  const TensorView view = AsNpyType(array, &storage);
  const Packed packed(view);
  FileWriter writer(path);
  writer.Write(NpyHeader(NpyDescr(view.dtype), view.shape));
  writer.Write(packed.bytes());
  writer.Commit();
}

}  // namespace regard::inline v0
