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

TEST_F(SimdTargetTest, BothNamesOfTheFallback) {
  for (const char* name : {"SCALAR", "EMU128"}) {
    setenv("REGARD_MAX_ISA", name, 1);
    EXPECT_EQ(UsableSimdTargets().size(), 1u);
    EXPECT_EQ(UsableSimdTargets()[0], BuiltSimdTargets().back());
  }
}

TEST_F(SimdTargetTest, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  setenv("REGARD_MAX_ISA", "AVX5", 1);
  try {
    UsableSimdTargets();
    FAIL() << "AVX5 was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("AVX5"));
    EXPECT_THAT(error.what(), HasSubstr("AVX2"));
  }
  setenv("REGARD_MAX_ISA", "", 1);
  EXPECT_THROW(FindSimdTarget("AVX5", "isa"), Error);
}

}  // namespace
}  // namespace regard::inline v0
