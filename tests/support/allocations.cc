#include "tests/support/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations{0}, live{0};
std::atomic<int64_t> allowed{-1};

// Whether the next allocation may succeed.
bool Allowed() {
  if (allowed.load() < 0) return true;
  if (allowed.fetch_sub(1) > 0) return true;
  allowed.store(0);
  return false;
}

void* Counted(void* memory) {
  if (memory == nullptr) return nullptr;
  ++allocations;
  ++live;
  return memory;
}

}  // namespace

// The linker calls these in the place of the functions they are named after
// (--wrap), and __real_ where they call on.
extern "C" {

void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
void __real_free(void* memory);

void* __wrap_malloc(std::size_t size) {
  return Allowed() ? Counted(__real_malloc(size)) : nullptr;
}

void* __wrap_calloc(std::size_t count, std::size_t size) {
  return Allowed() ? Counted(__real_calloc(count, size)) : nullptr;
}

void* __wrap_realloc(void* memory, std::size_t size) {
  if (!Allowed()) return nullptr;
  if (memory != nullptr) --live;
  return Counted(__real_realloc(memory, size));
}

void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  return Allowed() ? Counted(__real_aligned_alloc(alignment, size)) : nullptr;
}

void __wrap_free(void* memory) {
  if (memory != nullptr) --live;
  __real_free(memory);
}

}  // extern "C"

// ThreadSanitizer has operators of its own that can't be replaced: under it
// only malloc and its kin are counted.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REGARD_FIXED_OPERATORS
#endif
#endif

#ifndef REGARD_FIXED_OPERATORS

namespace {

void* NewOrNull(std::size_t size) {
  return __wrap_malloc(size == 0 ? 1 : size);
}

void* NewOrNull(std::size_t size, std::align_val_t alignment) {
  const std::size_t unit = static_cast<std::size_t>(alignment);
  const std::size_t rounded = (size + unit - 1) / unit * unit;
  return __wrap_aligned_alloc(unit, rounded == 0 ? unit : rounded);
}

template <typename... Alignment>
void* New(std::size_t size, Alignment... alignment) {
  void* memory = NewOrNull(size, alignment...);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// All forms: a sanitizer's runtime brings its own of those that are missing,
// and then of all.
void* operator new(std::size_t size) { return New(size); }
void* operator new[](std::size_t size) { return New(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return NewOrNull(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return NewOrNull(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return New(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return New(size, alignment);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t&) noexcept {
  return NewOrNull(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return NewOrNull(size, alignment);
}
void operator delete(void* memory) noexcept { __wrap_free(memory); }
void operator delete[](void* memory) noexcept { __wrap_free(memory); }
void operator delete(void* memory, std::size_t) noexcept {
  __wrap_free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  __wrap_free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  __wrap_free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  __wrap_free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  __wrap_free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  __wrap_free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  __wrap_free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  __wrap_free(memory);
}
void operator delete(void* memory, std::align_val_t,
                     const std::nothrow_t&) noexcept {
  __wrap_free(memory);
}
void operator delete[](void* memory, std::align_val_t,
                       const std::nothrow_t&) noexcept {
  __wrap_free(memory);
}

#endif  // REGARD_FIXED_OPERATORS

namespace regard::inline v0 {

int64_t Allocations() { return allocations.load(); }
int64_t LiveAllocations() { return live.load(); }
void FailAllocationsAfter(int64_t count) { allowed.store(count); }

}  // namespace regard::inline v0
