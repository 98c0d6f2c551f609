#include "tests/support/compare.h"

#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor One(float value) { return Tensor::FromVector({value}, {1}); }

// cubecl#1070: a harness that can't see NaN.
TEST(CompareTest, NaNAgainstANumberFailsInBothDirections) {
  EXPECT_FALSE(AllWithin(One(kNaN), One(0), 1e30));
  EXPECT_FALSE(AllWithin(One(0), One(kNaN), 1e30));
  EXPECT_FALSE(AllWithin(One(kNaN), One(kInf), 1e30));
  EXPECT_TRUE(AllWithin(One(kNaN), One(kNaN), 0));
}

TEST(CompareTest, InfinitiesAgreeWithThemselvesOnly) {
  EXPECT_TRUE(AllWithin(One(kInf), One(kInf), 0));
  EXPECT_FALSE(AllWithin(One(kInf), One(-kInf), 1e30));
  EXPECT_FALSE(AllWithin(One(kInf), One(3e38f), 1e30));
  EXPECT_FALSE(AllWithin(One(3e38f), One(kInf), 1e30));
}

TEST(CompareTest, ToleranceShapeAndBits) {
  EXPECT_TRUE(AllWithin(One(1), One(1.5f), 0.5));
  EXPECT_FALSE(AllWithin(One(1), One(1.5f), 0.49));
  EXPECT_FALSE(AllWithin(Tensor(DType::kF32, {2}), One(0), 1));
  EXPECT_TRUE(SameBits(One(1), One(1)));
  EXPECT_FALSE(SameBits(One(0.0f), One(-0.0f)));
  EXPECT_FALSE(SameBits(One(0), Tensor(DType::kF64, {1})));
}

}  // namespace
}  // namespace regard::inline v0
