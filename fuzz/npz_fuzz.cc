// Every member that a damaged archive lists is read or refused.
#include "fuzz.h"
#include "io/npz_reader.h"
#include "regard/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const regard::NpzReader archive({data, size}, "input");
    for (const std::string& name : archive.names()) {
      try {
        Require(archive.Read(name).NumElements() >= 0);
      } catch (const regard::Error& error) {
        Require(error.kind() != regard::ErrorKind::kUsage);
      }
    }
  } catch (const regard::Error& error) {
    Require(error.kind() == regard::ErrorKind::kFormat);
  }
  return 0;
}
