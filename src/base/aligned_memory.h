// Memory for arrays and scratch.
#ifndef REGARD_SRC_BASE_ALIGNED_MEMORY_H_
#define REGARD_SRC_BASE_ALIGNED_MEMORY_H_

#include <cstddef>

namespace regard::inline v0 {

// A cache line, and the widest vector register.
inline constexpr size_t kMemoryAlignment = 64;

// At least `bytes` bytes, aligned to kMemoryAlignment, large ones in huge pages
// where the system has some; nullptr when there is no memory. Released by
// std::free.
void* AllocateAligned(size_t bytes);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_ALIGNED_MEMORY_H_
