#include "tensor/simd_target.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>

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

std::vector<SimdTarget> Bits(int64_t set) {
  std::vector<SimdTarget> targets;
  for (; set != 0; set &= set - 1) targets.push_back(set & -set);
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
  return hwy::TargetName(target);
}

std::vector<SimdTarget> BuiltSimdTargets() { return Bits(HWY_TARGETS); }

std::vector<SimdTarget> UsableSimdTargets() {
  // What the compiler was told to require runs, whatever Highway's detection
  // says: it asks for more of NEON than the kernels use.
  std::vector<SimdTarget> usable =
      Bits((hwy::SupportedTargets() | HWY_STATIC_TARGET) & HWY_TARGETS);
  const char* cap = std::getenv("REGARD_MAX_ISA");
  if (cap == nullptr || *cap == '\0') return usable;
  const std::vector<SimdTarget> built = BuiltSimdTargets();
  const SimdTarget widest = ByName(built, cap);
  if (widest == 0) {
    throw Error(ErrorKind::kUsage, "REGARD_MAX_ISA",
                std::string("unknown instruction set \"") + cap + "\"",
                "use one of " + Join(Names(built)));
  }
  std::erase_if(usable, [&](SimdTarget target) { return target < widest; });
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
