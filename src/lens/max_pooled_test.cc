#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "regard/lens.h"

namespace regard::inline v0 {
namespace {

TEST(MaxPooledTest, SmallMapsStayAsTheyAre) {
  const Tensor map = Tensor::FromVector({1, 2, 3, 4, 5, 6}, {2, 3});
  const PooledMap pooled = MaxPooled(map, 2, 3);
  EXPECT_EQ(pooled.block, 1);
  EXPECT_EQ(pooled.values.shape(), (Dims{2, 3}));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(pooled.values.As<float>()[i], i + 1);
}

TEST(MaxPooledTest, TheTighterLimitGivesTheBlockAndTheLastIsCut) {
  std::vector<float> values(5 * 7);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = -static_cast<float>(i);
  }
  values[3 * 7 + 6] = 9;
  const PooledMap pooled = MaxPooled(Tensor::FromVector(values, {5, 7}), 5, 3);
  EXPECT_EQ(pooled.block, 3);
  EXPECT_EQ(pooled.values.shape(), (Dims{2, 3}));
  const std::vector<float> got(pooled.values.As<float>(),
                               pooled.values.As<float>() + 6);
  EXPECT_THAT(got, testing::ElementsAre(0, -3, -6, -21, -24, 9));
}

TEST(MaxPooledTest, NaNIsNotLostWhereverItStands) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int at = 0; at < 4; ++at) {
    std::vector<float> values = {1, 2, 3, 4};
    values[at] = nan;
    const PooledMap pooled =
        MaxPooled(Tensor::FromVector(values, {2, 2}), 1, 1);
    EXPECT_TRUE(std::isnan(pooled.values.As<float>()[0])) << at;
  }
}

TEST(MaxPooledTest, StridesAndLimits) {
  const Tensor map = Tensor::FromVector({1, 2, 3, 4, 5, 6}, {2, 3});
  const PooledMap pooled = MaxPooled(map.view().Transposed(0, 1), 3, 1);
  EXPECT_EQ(pooled.block, 2);
  EXPECT_EQ(pooled.values.As<float>()[0], 5);
  EXPECT_EQ(pooled.values.As<float>()[1], 6);
  EXPECT_THROW(MaxPooled(map, 0, 4), Error);
  EXPECT_THROW(MaxPooled(map.view().Select(0, 0), 1, 1), Error);
}

}  // namespace
}  // namespace regard::inline v0
