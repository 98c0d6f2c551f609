#include <gtest/gtest.h>

#include <cmath>

#include "lens/test_maps.h"

namespace regard::inline v0 {
namespace {

// Rows: .5 and .25 on key 0; carried .5*1/(.5*1 + .5*3) = .25 and
// .25*1/(.25*1 + .75*3) = .1.
TEST(KeyMassTest, ByHand) {
  const AttentionMaps maps = OneMap({.5f, .5f, .25f, .75f}, 2, 2, {1, 3});
  const KeyMass mass = MassOnKeys(maps, HeadId{0, 0}, {true, false});
  EXPECT_NEAR(mass.weight, 0.375, 1e-12);
  EXPECT_NEAR(mass.norm, 0.175, 1e-12);
  const KeyMass both = MassOnKeys(maps, HeadId{0, 0}, {true, true});
  EXPECT_NEAR(both.weight, 1, 1e-12);
  EXPECT_NEAR(both.norm, 1, 1e-12);
}

TEST(KeyMassTest, EmptyRowsDoNotCount) {
  const AttentionMaps maps = OneMap({0, 0, .25f, .75f}, 2, 2);
  const KeyMass mass = MassOnKeys(maps, HeadId{0, 0}, {true, false});
  EXPECT_NEAR(mass.weight, 0.25, 1e-12);
  EXPECT_TRUE(std::isnan(mass.norm));
}

TEST(KeyMassTest, MeanOverHeads) {
  const AttentionMaps maps = RandomMaps(2, 2, 4, 9);
  const std::vector<bool> first = {true, false, false, false};
  double weight = 0, norm = 0;
  for (const HeadId head : maps.AllHeads()) {
    const KeyMass mass = MassOnKeys(maps, head, first);
    weight += mass.weight / 4;
    norm += mass.norm / 4;
  }
  const KeyMass mean = MassOnKeys(maps, maps.AllHeads(), first);
  EXPECT_NEAR(mean.weight, weight, 1e-12);
  EXPECT_NEAR(mean.norm, norm, 1e-12);
  EXPECT_THROW(MassOnKeys(maps, HeadId{0, 0}, {true}), Error);
}

}  // namespace
}  // namespace regard::inline v0
