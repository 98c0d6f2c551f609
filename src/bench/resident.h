// How much memory this process holds, as the system counts it.
#ifndef REGARD_SRC_BENCH_RESIDENT_H_
#define REGARD_SRC_BENCH_RESIDENT_H_

#include <cstdint>
#include <functional>
#include <optional>

namespace regard::inline v0 {

// By how many bytes the resident memory of the process was larger at its peak
// during `work` than before it. Nothing where the system does not tell (it is
// asked as Linux does it: /proc/self/clear_refs, /proc/self/status).
std::optional<int64_t> ResidentGrowth(const std::function<void()>& work);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_RESIDENT_H_
