// What the fuzzers share.
#ifndef REGARD_FUZZ_FUZZ_H_
#define REGARD_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// The entry that libFuzzer and the replay of the corpus call.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// What must hold for every input.
inline void Require(bool condition) {
  if (!condition) std::abort();
}

#endif  // REGARD_FUZZ_FUZZ_H_
