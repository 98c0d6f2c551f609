#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/json.h"
#include "io/packed.h"
#include "io/safetensors_format.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

using Named = std::pair<std::string, TensorView>;

bool IsUtf8(std::string_view text) {
  std::string repaired;
  for (size_t next = 0; next < text.size();) {
    AppendUtf8(repaired, NextCodePoint(text, next));
  }
  return repaired == text;
}

// Wide types first, so that every tensor is aligned; then by name. (The order
// of the reference implementation: same tensors, same bytes.)
std::vector<const Named*> InFileOrder(const NamedViews& tensors) {
  std::vector<const Named*> order;
  for (const Named& tensor : tensors) order.push_back(&tensor);
  const auto before = [](const Named* a, const Named* b) {
    const SafeTensorsType* type_a = &SafeTensorsTypeOf(a->second.dtype);
    const SafeTensorsType* type_b = &SafeTensorsTypeOf(b->second.dtype);
    return type_a != type_b ? type_a > type_b : a->first < b->first;
  };
  std::sort(order.begin(), order.end(), before);
  return order;
}

void CheckNames(const NamedViews& tensors) {
  std::vector<std::string_view> names;
  for (const auto& [name, view] : tensors) {
    if (name == "__metadata__" || !IsUtf8(name)) {
      throw Error(ErrorKind::kArgument, "WriteSafeTensors",
                  fmt::format("\"{}\" can't be the name of a tensor", name));
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw Error(ErrorKind::kArgument, "WriteSafeTensors",
                fmt::format("two tensors are named {}", *twice));
  }
}

std::string Header(const std::vector<const Named*>& order,
                   const std::map<std::string, std::string>& metadata) {
  Json header = Json::Object();
  if (!metadata.empty()) {
    Json json;
    for (const auto& [key, value] : metadata) json.Set(key, value);
    header.Set("__metadata__", std::move(json));
  }
  int64_t offset = 0;
  for (const Named* tensor : order) {
    const TensorView& view = tensor->second;
    Json shape = Json::Array();
    for (const int64_t size : view.shape) shape.Append(size);
    const int64_t bytes =
        CheckedMul(view.NumElements(),
                   static_cast<int64_t>(ItemSize(view.dtype)), "safetensors");
    const int64_t end = CheckedAdd(offset, bytes, "safetensors");
    Json info;
    info.Set("dtype", SafeTensorsTypeOf(view.dtype).name);
    info.Set("shape", std::move(shape));
    info.Set("data_offsets", Json::Array{offset, end});
    header.Set(tensor->first, std::move(info));
    offset = end;
  }
  std::string text = header.Dump();
  text.resize(
      static_cast<size_t>(RoundUp(static_cast<int64_t>(text.size()), 8)), ' ');
  return text;
}

}  // namespace

void WriteSafeTensors(const std::string& path, const NamedViews& tensors,
                      const std::map<std::string, std::string>& metadata) {
  CheckNames(tensors);
  const std::vector<const Named*> order = InFileOrder(tensors);
  const std::string header = Header(order, metadata);
  const uint64_t length = header.size();
  char length_bytes[8];
  std::memcpy(length_bytes, &length, sizeof(length));
  FileWriter writer(path);
  writer.Write({length_bytes, sizeof(length_bytes)});
  writer.Write(header);
  for (const Named* tensor : order) {
    writer.Write(Packed(tensor->second).bytes());
  }
  writer.Commit();
}

}  // namespace regard::inline v0
