// The floating-point control state of a thread, set to the default for one
// scope.
#ifndef REGARD_SRC_BASE_FLOAT_STATE_H_
#define REGARD_SRC_BASE_FLOAT_STATE_H_

#if defined(__SSE2__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace regard::inline v0 {

// A host may run with denormals flushed to zero, another rounding or unmasked
// exceptions, and its setting holds on its own thread only: without this, the
// bits of a result would depend on which thread computed it. Each task of a
// kernel begins with one of these; the former state, flags included, comes back
// at its end.
class ScopedFloatState {
 public:
#if defined(__SSE2__)
  // Reset value of MXCSR: round to nearest, denormals kept, exceptions masked.
  ScopedFloatState() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~ScopedFloatState() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  // FPCR 0: the same; fesetenv would keep what the C standard doesn't know
  // (flushed half denormals, the default NaN). FPSR has the flags.
  ScopedFloatState() {
    asm volatile("mrs %0, fpcr" : "=r"(control_));
    asm volatile("mrs %0, fpsr" : "=r"(flags_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}) : "memory");
  }
  ~ScopedFloatState() {
    asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
    asm volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
  }

 private:
  uint64_t control_, flags_;
#else
  ScopedFloatState() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ScopedFloatState() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif

 public:
  ScopedFloatState(const ScopedFloatState&) = delete;
  ScopedFloatState& operator=(const ScopedFloatState&) = delete;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BASE_FLOAT_STATE_H_
