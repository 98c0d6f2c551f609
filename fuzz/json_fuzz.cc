// What is read as JSON is written and read again unchanged.
#include <string_view>

#include "fuzz.h"
#include "io/json.h"
#include "regard/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using regard::Json;
  Json json;
  try {
    json = Json::Parse({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const regard::Error& error) {
    Require(error.kind() == regard::ErrorKind::kFormat);
    return 0;
  }
  const std::string text = json.Dump();
  Require(Json::Parse(text, "output").Dump() == text);
  return 0;
}
