// The bytes of one safetensors file.
// Source: github.com/huggingface/safetensors, README.md, "Format".
#ifndef REGARD_SRC_IO_SAFETENSORS_FORMAT_H_
#define REGARD_SRC_IO_SAFETENSORS_FORMAT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/io.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// One type of the format.
struct SafeTensorsType {
  const char* name;
  int bits;                    // of one element
  std::optional<DType> dtype;  // nullopt: this library has no such type
};

// In the order in which files are laid out: later types come first.
std::span<const SafeTensorsType> SafeTensorsTypes();
const SafeTensorsType* FindSafeTensorsType(std::string_view name);
const SafeTensorsType& SafeTensorsTypeOf(DType dtype);

struct SafeTensorsContent {
  std::vector<SafeTensors::Entry> entries;  // in order of name
  std::map<std::string, std::string> metadata;
};

// Checks the whole layout of `file`, whose bytes the result points into; `name`
// stands in messages. Error (kFormat, kUnsupported).
SafeTensorsContent ParseSafeTensors(std::span<const uint8_t> file,
                                    const std::string& name);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_SAFETENSORS_FORMAT_H_
