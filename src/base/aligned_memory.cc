#include "base/aligned_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace regard::inline v0 {

namespace {

// Memory from here on is asked for in huge pages, whose addresses take the
// processor no time to translate: on a virtual machine, reading 128 MiB in
// order was 1.9 times as fast, attention in a window 2 to 4 % faster.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeMemory = 4 * kHugePage;

size_t RoundedUp(size_t bytes, size_t alignment) {
  return bytes + (alignment - bytes % alignment) % alignment;
}

}  // namespace

void* AllocateAligned(size_t bytes) {
  const size_t alignment = bytes < kHugeMemory ? kMemoryAlignment : kHugePage;
  const size_t rounded = RoundedUp(bytes, alignment);
  if (rounded < bytes) return nullptr;
  void* memory = std::aligned_alloc(alignment, rounded);
#ifdef MADV_HUGEPAGE
  // As good as it gets: without huge pages it is memory all the same.
  if (memory != nullptr && alignment == kHugePage) {
    static_cast<void>(madvise(memory, rounded, MADV_HUGEPAGE));
  }
#endif
  return memory;
}

}  // namespace regard::inline v0
