#include "tensor/simd_target.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#if HWY_ARCH_X86_64
#include <cpuid.h>
#endif

#include "base/strings.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

// The fallback of a build that has one is called by one of two names, by
// compiler; both are understood.
bool NamesFallback(const std::string& name) {
  return name == "SCALAR" || name == "EMU128";
}

std::vector<std::string> Names(const std::vector<SimdTarget>& targets) {
  std::vector<std::string> names;
  for (const SimdTarget target : targets) {
    names.push_back(SimdTargetName(target));
  }
  return names;
}

#if HWY_ARCH_X86_64 && (HWY_TARGETS & HWY_AVX3)
static_assert(kAvx3Bf16 == (HWY_AVX3 | 1));
constexpr bool kAvx3Bf16IsBuilt = true;

// CPUID leaf 7, subleaf 1: EAX bit 5 is AVX512_BF16. That the operating system
// keeps the registers is part of AVX3.
bool HasAvx512Bf16() {
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 &&
           (eax >> 5 & 1) != 0;
  }();
  return has;
}
#else
constexpr bool kAvx3Bf16IsBuilt = false;
bool HasAvx512Bf16() { return false; }
#endif

// Of Highway's bits, widest first; a lower bit is a wider set.
std::vector<SimdTarget> Targets(int64_t set, bool with_bf16) {
  std::vector<SimdTarget> targets;
  for (; set != 0; set &= set - 1) {
    const int64_t bit = set & -set;
    if (bit == (kAvx3Bf16 & ~SimdTarget{1}) && with_bf16) {
      targets.push_back(kAvx3Bf16);
    }
    targets.push_back(bit);
  }
  return targets;
}

// 0 when none of `targets` has that name.
SimdTarget ByName(const std::vector<SimdTarget>& targets,
                  const std::string& name) {
  if (NamesFallback(name) && NamesFallback(SimdTargetName(targets.back()))) {
    return targets.back();
  }
  for (const SimdTarget target : targets) {
    if (SimdTargetName(target) == name) return target;
  }
  return 0;
}

}  // namespace

std::string SimdTargetName(SimdTarget target) {
  return target == kAvx3Bf16 ? "AVX3_BF16" : hwy::TargetName(target);
}

std::vector<SimdTarget> BuiltSimdTargets() {
  return Targets(HWY_TARGETS, kAvx3Bf16IsBuilt);
}

std::vector<SimdTarget> SimdTargetsAmong(int64_t supported) {
  // What the compiler was told to require runs, whatever Highway's detection
  // says: it asks for more of NEON than the kernels use.
  return Targets((supported | HWY_STATIC_TARGET) & HWY_TARGETS,
                 kAvx3Bf16IsBuilt && HasAvx512Bf16());
}

std::vector<SimdTarget> UsableSimdTargets() {
  // Asked once: the host of a virtual machine answers it, which takes as long
  // as the attention of a sentence.
  static const int64_t supported = hwy::SupportedTargets();
  std::vector<SimdTarget> usable = SimdTargetsAmong(supported);
  const char* cap = std::getenv("REGARD_MAX_ISA");
  if (cap == nullptr || *cap == '\0') return usable;
  const std::vector<SimdTarget> built = BuiltSimdTargets();
  const SimdTarget widest = ByName(built, cap);
  if (widest == 0) {
    throw Error(ErrorKind::kUsage, "REGARD_MAX_ISA",
                std::string("unknown instruction set \"") + cap + "\"",
                "use one of " + Join(Names(built)));
  }
  const auto first = std::find(built.begin(), built.end(), widest);
  std::erase_if(usable, [&](SimdTarget target) {
    return std::find(first, built.end(), target) == built.end();
  });
  return usable;
}

SimdTarget FindSimdTarget(const std::string& name, const std::string& subject) {
  const std::vector<SimdTarget> usable = UsableSimdTargets();
  if (name.empty()) return usable.front();
  const SimdTarget target = ByName(usable, name);
  if (target == 0) {
    throw Error(ErrorKind::kArgument, subject,
                "\"" + name + "\" is not usable on this machine",
                "use one of " + Join(Names(usable)));
  }
  return target;
}

}  // namespace regard::inline v0
