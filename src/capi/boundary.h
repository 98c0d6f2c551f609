// Where exceptions end: every function of the C interface runs inside Guard.
#ifndef REGARD_SRC_CAPI_BOUNDARY_H_
#define REGARD_SRC_CAPI_BOUNDARY_H_

#include <cstdint>
#include <vector>

#include "regard/error.h"
#include "regard/regard_c.h"

namespace regard::inline v0 {

// Thrown through the engine when a callback asks to stop.
struct StoppedByCallback {};

regard_status StatusOf(ErrorKind kind) noexcept;

// Keeps the message of the exception in flight for regard_last_message and
// returns its status. In messages `function` stands in the place of the C++
// function.
regard_status Report(const char* function) noexcept;

template <typename Body>
regard_status Guard(const char* function, const Body& body) noexcept {
  try {
    body();
    return REGARD_OK;
  } catch (...) {
    return Report(function);
  }
}

// Error (kArgument) for NULL.
template <typename T>
T& Required(T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorKind::kArgument, name, "is NULL");
  return *pointer;
}

// A copy of a list that may be NULL: empty. Error (kArgument) where `count`,
// which is called `name`, is negative.
std::vector<int64_t> Copied(const int64_t* list, int64_t count,
                            const char* name);

// A new handle; the place for it is looked at first.
template <typename T>
void Create(T** handle, const char* name) {
  T*& place = Required(handle, name);
  place = new T();
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CAPI_BOUNDARY_H_
