#include "tensor/simd_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "regard/error.h"

namespace regard::inline v0 {
namespace {

using testing::HasSubstr;

class SimdTargetTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* cap = std::getenv("REGARD_MAX_ISA");
    if (cap != nullptr) before_ = cap;
    unsetenv("REGARD_MAX_ISA");
  }
  void TearDown() override {
    if (before_.empty()) {
      unsetenv("REGARD_MAX_ISA");
    } else {
      setenv("REGARD_MAX_ISA", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TEST_F(SimdTargetTest, TheCapLeavesItselfAndWhatIsNarrower) {
  const std::vector<SimdTarget> all = UsableSimdTargets();
  ASSERT_FALSE(all.empty());
  for (size_t i = 0; i < all.size(); ++i) {
    setenv("REGARD_MAX_ISA", SimdTargetName(all[i]).c_str(), 1);
    EXPECT_EQ(
        UsableSimdTargets(),
        std::vector<SimdTarget>(all.begin() + static_cast<long>(i), all.end()));
    EXPECT_EQ(FindSimdTarget("", "x"), all[i]);
  }
}

// aarch64 has none: NEON runs anywhere.
TEST_F(SimdTargetTest, BothNamesOfTheFallback) {
  const std::string narrowest = SimdTargetName(BuiltSimdTargets().back());
  const bool fallback = narrowest == "SCALAR" || narrowest == "EMU128";
  for (const char* name : {"SCALAR", "EMU128"}) {
    setenv("REGARD_MAX_ISA", name, 1);
    if (!fallback) {
      EXPECT_THROW(UsableSimdTargets(), Error);
      continue;
    }
    EXPECT_EQ(UsableSimdTargets().size(), 1u);
    EXPECT_EQ(UsableSimdTargets()[0], BuiltSimdTargets().back());
  }
}

// The level with the bf16 dot product has AVX3's code below it.
TEST_F(SimdTargetTest, Avx3Bf16ComesBeforeAvx3) {
  for (const std::vector<SimdTarget>& list :
       {BuiltSimdTargets(), UsableSimdTargets()}) {
    const auto at = std::find(list.begin(), list.end(), kAvx3Bf16);
    if (at == list.end()) continue;
    ASSERT_NE(at + 1, list.end());
    EXPECT_EQ(SimdTargetName(*(at + 1)), "AVX3");
    EXPECT_EQ(SimdTargetName(*at), "AVX3_BF16");
    EXPECT_NE(*at & *(at + 1), 0);
  }
  // A processor without AVX3 has it neither.
  const std::vector<SimdTarget> usable =
      SimdTargetsAmong(BuiltSimdTargets().back());
  EXPECT_EQ(std::count(usable.begin(), usable.end(), kAvx3Bf16), 0);
}

// A processor in which Highway finds nothing that was built.
TEST_F(SimdTargetTest, SomethingIsAlwaysUsable) {
  EXPECT_EQ(SimdTargetsAmong(int64_t{1} << 62),
            std::vector<SimdTarget>{BuiltSimdTargets().back()});
}

TEST_F(SimdTargetTest, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  setenv("REGARD_MAX_ISA", "AVX5", 1);
  try {
    UsableSimdTargets();
    FAIL() << "AVX5 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("AVX5"));
    EXPECT_THAT(error.what(),
                HasSubstr(SimdTargetName(BuiltSimdTargets().front())));
  }
  setenv("REGARD_MAX_ISA", "", 1);
  EXPECT_THROW(FindSimdTarget("AVX5", "isa"), Error);
}

}  // namespace
}  // namespace regard::inline v0
