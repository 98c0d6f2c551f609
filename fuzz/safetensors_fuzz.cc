// What is accepted covers the data exactly once, inside the file.
#include <cstdint>

#include "fuzz.h"
#include "io/safetensors_format.h"
#include "regard/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  regard::SafeTensorsContent content;
  try {
    content = regard::ParseSafeTensors({data, size}, "input");
  } catch (const regard::Error&) {
    return 0;
  }
  size_t covered = 0;
  uint64_t sum = 0;
  for (const auto& entry : content.entries) {
    const auto* bytes = static_cast<const uint8_t*>(entry.data);
    Require(bytes >= data && bytes + entry.bytes <= data + size);
    for (size_t i = 0; i < entry.bytes; ++i) sum += bytes[i];
    covered += entry.bytes;
  }
  uint64_t expected = 0;
  for (size_t i = size - covered; i < size; ++i) expected += data[i];
  Require(sum == expected);
  return 0;
}
