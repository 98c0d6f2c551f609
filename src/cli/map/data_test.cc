#include "cli/map/data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

// Two layers of two heads over three tokens: cell = 100 layer + 10 head + row +
// column / 10, so that each place can be told from every other.
AttentionMaps CountedMaps() {
  std::vector<Tensor> weights;
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<float> cells;
    for (int c = 0; c < 18; ++c) {
      cells.push_back(static_cast<float>(100 * layer + 10 * (c / 9) +
                                         (c / 3) % 3 + 0.125 * (c % 3)));
    }
    weights.push_back(Tensor::FromVector(cells, {2, 3, 3}));
  }
  return AttentionMaps(std::move(weights));
}

std::vector<float> Cells(const ShownMap& map) {
  const float* begin = map.values.As<float>();
  return {begin, begin + map.values.NumElements()};
}

TEST(MapDataTest, GroupsAndTheirNames) {
  const std::vector<HeadId> chosen = {{0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ(GroupHeads(chosen, Averaging::kNone).size(), 3u);
  const std::vector<MapGroup> layers = GroupHeads(chosen, Averaging::kHeads);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(GroupName(layers[0]), "layer 0, mean of 1 head");
  EXPECT_EQ(layers[1].head, (HeadId{1, -1}));
  EXPECT_EQ(layers[1].members.size(), 2u);
  EXPECT_EQ(GroupName(layers[1]), "layer 1, mean of 2 heads");
  const std::vector<MapGroup> all = GroupHeads(chosen, Averaging::kAll);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].head, (HeadId{-1, -1}));
  EXPECT_EQ(GroupName(all[0]), "mean of 3 heads");
  EXPECT_EQ(GroupName(GroupHeads(chosen, Averaging::kNone)[1]), "L1H0");
}

TEST(MapDataTest, RectangleAroundHeads) {
  EXPECT_THAT(RectangleAround({{1, 3}, {4, 0}}),
              testing::ElementsAre(HeadId{1, 0}, HeadId{1, 3}, HeadId{4, 0},
                                   HeadId{4, 3}));
}

TEST(MapDataTest, WholeMapsAreNotCopied) {
  const AttentionMaps maps = CountedMaps();
  const MapData data =
      BuildMaps(maps, GroupHeads({{1, 1}}, Averaging::kNone), {0, 1, 2}, false);
  EXPECT_EQ(data.maps[0].values.data, maps.Map({1, 1}).data);
  EXPECT_TRUE(data.owned.empty());
}

TEST(MapDataTest, HiddenTokensLoseRowsAndColumns) {
  const AttentionMaps maps = CountedMaps();
  const MapData data =
      BuildMaps(maps, GroupHeads({{0, 0}}, Averaging::kNone), {1, 2}, false);
  EXPECT_THAT(Cells(data.maps[0]),
              testing::ElementsAre(1.125f, 1.25f, 2.125f, 2.25f));
  EXPECT_EQ(data.maps[0].hidden_mass, 1.5);  // (1 + 2) / 2
}

TEST(MapDataTest, RenormalisedRowsSumToOneAndEmptyOnesStay) {
  std::vector<Tensor> weights;
  weights.push_back(
      Tensor::FromVector({.5f, .25f, .25f, 1, 0, 0, .2f, .2f, .6f}, {1, 3, 3}));
  const AttentionMaps maps(std::move(weights));
  const MapData data =
      BuildMaps(maps, GroupHeads({{0, 0}}, Averaging::kNone), {1, 2}, true);
  const std::vector<float> cells = Cells(data.maps[0]);
  EXPECT_EQ(cells[0], 0);
  EXPECT_EQ(cells[1], 0);
  EXPECT_FLOAT_EQ(cells[2], 0.25f);
  EXPECT_FLOAT_EQ(cells[3], 0.75f);
  EXPECT_NEAR(data.maps[0].hidden_mass, 0.6, 1e-7);
}

TEST(MapDataTest, AveragesAreOfTheGroup) {
  const AttentionMaps maps = CountedMaps();
  const MapData data = BuildMaps(
      maps, GroupHeads(maps.AllHeads(), Averaging::kHeads), {0, 1, 2}, false);
  ASSERT_EQ(data.maps.size(), 2u);
  EXPECT_EQ(Cells(data.maps[1])[0], 105);
  EXPECT_EQ(Cells(data.maps[1])[5], 106.25f);
}

}  // namespace
}  // namespace regard::inline v0
