// Counts every allocation of the program it is linked with, and makes them
// fail. For a target of regard_counts_allocations (cmake/Regard.cmake): all
// forms of operator new are replaced, and malloc and its kin in Regard's code.
#ifndef REGARD_TESTS_SUPPORT_ALLOCATIONS_H_
#define REGARD_TESTS_SUPPORT_ALLOCATIONS_H_

#include <cstdint>

namespace regard::inline v0 {

// So far, on all threads.
int64_t Allocations();
// Of those, not freed yet.
int64_t LiveAllocations();

// After `count` more allocations all fail, until the next call; negative: none
// does.
void FailAllocationsAfter(int64_t count);

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_ALLOCATIONS_H_
