// The floating-point control register of this thread, as a host sets it.
#ifndef REGARD_TESTS_SUPPORT_FLOAT_CONTROL_H_
#define REGARD_TESTS_SUPPORT_FLOAT_CONTROL_H_

#include <cstdint>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace regard::inline v0 {

#if defined(__SSE2__)
// MXCSR, without the flags that every operation sets.
inline uint64_t FloatControl() { return _mm_getcsr() & ~0x3Fu; }
inline void SetFloatControl(uint64_t control) {
  _mm_setcsr(static_cast<unsigned>(control));
}
inline constexpr uint64_t kFlushToZero = 0x8040;
inline constexpr uint64_t kHostileFloatControls[] = {kFlushToZero,
                                                     0x6000,   // towards zero
                                                     0x2000};  // down
#elif defined(__aarch64__)
// FPCR.
inline uint64_t FloatControl() {
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
inline void SetFloatControl(uint64_t control) {
  asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
}
inline constexpr uint64_t kFlushToZero = 1 << 24;
inline constexpr uint64_t kHostileFloatControls[] = {kFlushToZero,
                                                     3 << 22,   // towards zero
                                                     2 << 22};  // down
#else
#error "which register controls floating-point arithmetic here?"
#endif

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_FLOAT_CONTROL_H_
