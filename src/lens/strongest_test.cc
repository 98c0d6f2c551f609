#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lens/test_maps.h"

namespace regard::inline v0 {
namespace {

TEST(StrongestLinksTest, AgainstASortOfEverything) {
  const int64_t n = 6;
  const AttentionMaps maps = RandomMaps(2, 3, n, 5);
  const std::vector<bool> tokens = {false, true, true, true, true, false};
  std::vector<double> all;
  for (const HeadId head : maps.AllHeads()) {
    for (int64_t i = 1; i < n - 1; ++i) {
      for (int64_t j = 1; j < n - 1; ++j) {
        if (i != j) all.push_back(maps.Map(head).As<float>()[i * n + j]);
      }
    }
  }
  std::sort(all.rbegin(), all.rend());
  const std::vector<Link> links =
      StrongestLinks(maps, maps.AllHeads(), tokens, 7);
  ASSERT_EQ(links.size(), 7u);
  for (size_t i = 0; i < links.size(); ++i) {
    EXPECT_EQ(links[i].weight, all[i]);
    EXPECT_EQ(
        links[i].weight,
        maps.Map(links[i].head).As<float>()[links[i].query * n + links[i].key]);
  }
}

TEST(StrongestLinksTest, TiesInOrderNaNLeftOutShortListsStayShort) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const AttentionMaps maps =
      OneMap({.2f, .4f, .4f, nan, nan, nan, .4f, .1f, .5f}, 3, 3);
  const std::vector<Link> links =
      StrongestLinks(maps, {{0, 0}}, {true, true, true}, 10);
  ASSERT_EQ(links.size(), 4u);
  EXPECT_EQ(links[0].key, 1);
  EXPECT_EQ(links[1].key, 2);
  EXPECT_EQ(links[2].query, 2);
  EXPECT_EQ(links[3].weight, .1f);
  EXPECT_TRUE(StrongestLinks(maps, {{0, 0}}, {true, false, false}, 3).empty());
  EXPECT_THROW(StrongestLinks(maps, {{0, 0}}, {true}, 3), Error);
}

TEST(StrongestTargetTest, MeanRowOfTheSpanFirstAtATie) {
  const AttentionMaps maps = OneMap({.50f, .25f, .25f,  //
                                     .50f, .50f, .00f,  //
                                     .50f, .00f, .50f},
                                    3, 3);
  const Link target =
      StrongestTarget(maps, {0, 0}, {1, 2}, {false, true, true});
  EXPECT_EQ(target.query, 1);
  EXPECT_EQ(target.key, 1);
  EXPECT_EQ(target.weight, .25);
  EXPECT_EQ(StrongestTarget(maps, {0, 0}, {1, 2}, {true, true, true}).key, 0);
  const Link none =
      StrongestTarget(maps, {0, 0}, {1, 2}, {false, false, false});
  EXPECT_EQ(none.key, -1);
  EXPECT_TRUE(std::isnan(none.weight));
}

TEST(StrongestSourceTest, SumOverTheSpan) {
  const AttentionMaps maps = OneMap({.50f, .25f, .25f,  //
                                     .75f, .25f, .00f,  //
                                     .00f, .50f, .50f},
                                    3, 3);
  const Link source = StrongestSource(maps, {0, 0}, {1, 2}, {true, true, true});
  EXPECT_EQ(source.query, 2);
  EXPECT_EQ(source.key, 1);
  EXPECT_EQ(source.weight, 1);
  EXPECT_EQ(StrongestSource(maps, {0, 0}, {1, 2}, {true, true, false}).query,
            0);
}

TEST(StrongestTest, NaNIsNotSkippedOver) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const AttentionMaps maps = OneMap({nan, nan, .25f, .75f}, 2, 2);
  EXPECT_EQ(StrongestTarget(maps, {0, 0}, {0, 0}, {true, true}).key, -1);
  EXPECT_EQ(StrongestSource(maps, {0, 0}, {0, 0}, {true, true}).query, -1);
  EXPECT_EQ(StrongestTarget(maps, {0, 0}, {1, 1}, {true, true}).key, 1);
}

}  // namespace
}  // namespace regard::inline v0
