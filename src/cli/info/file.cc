#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/display_width.h"
#include "cli/facts.h"
#include "cli/info/info.h"
#include "cli/model/model_hash.h"
#include "cli/text_layout.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

struct ArrayInfo {
  std::string name;  // "" for the one array of an .npy
  std::string dtype;
  Dims shape;
  std::string problem;  // why it can't be used, if so
};

std::vector<ArrayInfo> ArraysOf(const SafeTensors& file) {
  std::vector<ArrayInfo> arrays;
  for (const SafeTensors::Entry& entry : file.entries()) {
    arrays.push_back({entry.name, entry.dtype, entry.shape, ""});
  }
  return arrays;
}

std::vector<ArrayInfo> ArraysOf(const std::string& path) {
  std::vector<ArrayInfo> arrays;
  for (const std::string& name : ListArrays(path)) {
    try {
      const Tensor array = ReadArray(name.empty() ? path : path + ":" + name);
      arrays.push_back({name, Name(array.dtype()), array.shape(), ""});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      arrays.push_back({name, "", {}, error.reason()});
    }
  }
  return arrays;
}

Json AsJson(const std::vector<ArrayInfo>& arrays) {
  Json::Array list;
  for (const ArrayInfo& array : arrays) {
    Json one;
    one.Set("name", array.name);
    if (array.problem.empty()) {
      Json::Array shape;
      for (const int64_t size : array.shape) shape.push_back(size);
      one.Set("dtype", array.dtype);
      one.Set("shape", std::move(shape));
    } else {
      one.Set("unsupported", array.problem);
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string AsText(const std::vector<ArrayInfo>& arrays) {
  int columns = 0;
  for (const ArrayInfo& array : arrays) {
    columns = std::max(columns, DisplayWidth(VisibleText(array.name)));
  }
  std::string out;
  for (const ArrayInfo& array : arrays) {
    std::string line = "  " + PadRight(VisibleText(array.name), columns);
    if (columns > 0) line += "  ";
    line += array.problem.empty()
                ? PadRight(array.dtype, 5) + " " + ToString(array.shape)
                : VisibleText(array.problem);
    out += line + "\n";
  }
  return out;
}

void AddMetadata(Facts& facts, const SafeTensors& file) {
  Json metadata = Json::Object();
  std::string text;
  for (const auto& [key, value] : file.metadata()) {
    metadata.Set(key, value);
    text += (text.empty() ? "" : ", ") + key + " = " + value;
  }
  if (text.empty()) {
    facts.AddJson("metadata", std::move(metadata));
  } else {
    facts.Add("metadata", std::move(metadata), text);
  }
}

}  // namespace

void PrintFileInfo(const std::string& path, bool verify, Context& context) {
  Facts facts;
  facts.Add("file", path);
  std::vector<ArrayInfo> arrays;
  const bool checkpoint =
      path.ends_with(".safetensors") || path.ends_with(".json");
  if (checkpoint) {
    const SafeTensors file = SafeTensors::Open(path);
    arrays = ArraysOf(file);
    AddMetadata(facts, file);
  } else {
    arrays = ArraysOf(path);
  }
  facts.Add("bytes", static_cast<int64_t>(std::filesystem::file_size(path)));
  facts.Add("sha256", checkpoint ? WeightsSha256(path, verify)
                                 : FileSha256(path, verify));
  facts.AddJson("arrays", AsJson(arrays));
  facts.Print(context);
  if (!context.common.json) context.console.Print(AsText(arrays));
}

}  // namespace regard::inline v0
