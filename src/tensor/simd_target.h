// Instruction sets: which are built in, which this machine may use, and the cap
// that REGARD_MAX_ISA puts on them. Free of Highway, so that code on top of
// other libraries can obey the same cap.
#ifndef REGARD_SRC_TENSOR_SIMD_TARGET_H_
#define REGARD_SRC_TENSOR_SIMD_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

namespace regard::inline v0 {

// Highway's bit of one instruction set.
using SimdTarget = int64_t;

// AVX-512 with the dot product of bf16 pairs, VDPBF16PS, which Highway has no
// target for: its bit of AVX3, whose code serves where a function has none for
// this level, and one more.
inline constexpr SimdTarget kAvx3Bf16 = (SimdTarget{1} << 8) | 1;

// "AVX3_BF16", "AVX3" (AVX-512), "AVX2", "SSE4", "SSSE3", "SCALAR" or "EMU128";
// on aarch64 "NEON", alone.
std::string SimdTargetName(SimdTarget target);

// Everything this build contains, widest first; the last one runs anywhere.
std::vector<SimdTarget> BuiltSimdTargets();
// Those of Highway's sets that the build contains, and what belongs to them.
std::vector<SimdTarget> SimdTargetsAmong(int64_t supported);
// Those that the processor and its operating system support and that
// REGARD_MAX_ISA allows, widest first; never empty. Error (kUsage) when the
// variable holds an unknown name.
std::vector<SimdTarget> UsableSimdTargets();
// The usable target of that name, or the widest for "". Error (kArgument) with
// subject `subject` listing the usable ones.
SimdTarget FindSimdTarget(const std::string& name, const std::string& subject);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TENSOR_SIMD_TARGET_H_
