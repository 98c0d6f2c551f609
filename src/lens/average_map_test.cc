#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lens/test_maps.h"

namespace regard::inline v0 {
namespace {

TEST(AverageMapTest, MeanOfTheChosenHeadsOnly) {
  const AttentionMaps maps = RandomMaps(2, 3, 5, 1);
  const std::vector<HeadId> heads = {{0, 2}, {1, 0}, {1, 1}};
  const Tensor mean = AverageMap(maps, heads);
  ASSERT_EQ(mean.shape(), (Dims{5, 5}));
  for (int64_t c = 0; c < 25; ++c) {
    double want = 0;
    for (const HeadId head : heads) want += maps.Map(head).As<float>()[c] / 3.0;
    EXPECT_NEAR(mean.As<float>()[c], want, 1e-7);
  }
}

TEST(AverageMapTest, OneHeadIsItselfBitForBit) {
  const AttentionMaps maps = RandomMaps(1, 2, 4, 2);
  const Tensor mean = AverageMap(maps, {{0, 1}});
  const float* map = maps.Map({0, 1}).As<float>();
  for (int64_t c = 0; c < 16; ++c) EXPECT_EQ(mean.As<float>()[c], map[c]);
}

TEST(AverageMapTest, NothingToAverage) {
  EXPECT_THROW(AverageMap(RandomMaps(1, 1, 2, 3), {}), Error);
}

}  // namespace
}  // namespace regard::inline v0
