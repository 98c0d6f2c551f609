// What is read as an array is written by our header and read again unchanged.
#include <cstring>
#include <string>

#include "fuzz.h"
#include "io/npy_format.h"
#include "io/packed.h"
#include "regard/error.h"

namespace {

regard::Tensor Read(const uint8_t* data, size_t size) {
  regard::MemorySource source({data, size});
  return regard::ReadNpy(source, "input");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  regard::Tensor array;
  try {
    array = Read(data, size);
  } catch (const regard::Error&) {
    return 0;
  }
  const regard::Packed packed(array.view());
  std::string again =
      regard::NpyHeader(regard::NpyDescr(array.dtype()), array.shape());
  again += packed.bytes();
  const regard::Tensor second =
      Read(reinterpret_cast<const uint8_t*>(again.data()), again.size());
  Require(second.dtype() == array.dtype());
  Require(second.shape() == array.shape());
  Require(regard::Packed(second.view()).bytes() == packed.bytes());
  return 0;
}
