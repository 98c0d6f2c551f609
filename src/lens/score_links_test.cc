#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lens/test_maps.h"

namespace regard::inline v0 {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Every number worked out by hand: A = {1, 2}, B = {0, 1}.
//   mean row   .3 .2 .4 .1       unit B .5, then .4, .1
//   baseline   rows 0 and 3: (.75 + .25) / 2 = .5
//   norm       (.3*1 + .2*2) / (.3*1 + .2*2 + .4*3 + .1*10) = .7 / 2.9
TEST(ScoreLinksTest, SpansByHand) {
  const AttentionMaps maps = OneMap({.50f, .25f, .25f, .00f,  //
                                     .40f, .10f, .40f, .10f,  //
                                     .20f, .30f, .40f, .10f,  //
                                     .125f, .125f, .5f, .25f},
                                    4, 4, {1, 2, 3, 10});
  const LinkScore s = ScoreLink(maps, {0, 0}, {1, 2}, {0, 1});
  EXPECT_EQ(s.head, (HeadId{0, 0}));
  EXPECT_NEAR(s.weight, 0.5, 1e-7);
  EXPECT_EQ(s.rank, 1);
  EXPECT_NEAR(s.row_max, 0.5, 1e-7);
  EXPECT_EQ(s.row_argmax, 0);
  EXPECT_NEAR(s.entropy,
              -(.3 * std::log(.3) + .2 * std::log(.2) + .4 * std::log(.4) +
                .1 * std::log(.1)),
              1e-6);
  EXPECT_NEAR(s.baseline, 0.5, 1e-7);
  EXPECT_NEAR(s.lift, 1.0, 1e-6);
  EXPECT_NEAR(s.norm, 0.7 / 2.9, 1e-6);
}

TEST(ScoreLinksTest, MergingLiftsASpanAboveTheLargestSingleToken) {
  const AttentionMaps maps =
      OneMap({.1f, .3f, .3f, .4f, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 4, 4);
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {0, 0}, {1, 1}).rank, 2);
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {0, 0}, {1, 2}).rank, 1);
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {0, 0}, {1, 2}).row_argmax, 1);
  // The unit of B counts by its sum, its tokens no longer alone.
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {0, 0}, {0, 0}).rank, 4);
}

TEST(ScoreLinksTest, TiesShareTheSmallestRankAndTheFirstIsTheMaximum) {
  const AttentionMaps maps =
      OneMap({.25f, .25f, .25f, .25f, .125f, .375f, .125f, .375f}, 2, 4);
  for (int64_t j = 0; j < 4; ++j) {
    EXPECT_EQ(ScoreLink(maps, {0, 0}, {0, 0}, {j, j}).rank, 1);
  }
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {0, 0}, {2, 2}).row_argmax, 0);
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {1, 1}, {2, 2}).rank, 3);
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {1, 1}, {3, 3}).rank, 1);
  EXPECT_EQ(ScoreLink(maps, {0, 0}, {1, 1}, {3, 3}).row_argmax, 1);
}

TEST(ScoreLinksTest, OneTokenHasNoBaseline) {
  const LinkScore s = ScoreLink(OneMap({1}, 1, 1, {2}), {0, 0}, {0, 0}, {0, 0});
  EXPECT_EQ(s.weight, 1);
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.entropy, 0);
  EXPECT_FALSE(std::signbit(s.entropy));
  EXPECT_EQ(s.norm, 1);
  EXPECT_TRUE(std::isnan(s.baseline));
  EXPECT_TRUE(std::isnan(s.lift));
}

TEST(ScoreLinksTest, BaselineZeroGivesInfiniteLift) {
  const LinkScore s =
      ScoreLink(OneMap({.5f, .5f, 1, 0}, 2, 2), {0, 0}, {0, 0}, {1, 1});
  EXPECT_EQ(s.baseline, 0);
  EXPECT_TRUE(std::isinf(s.lift));
  EXPECT_TRUE(std::isnan(s.norm)) << "no norms were collected";
}

TEST(ScoreLinksTest, NaNRowIsSaidAndOtherRowsStay) {
  const AttentionMaps maps = OneMap({kNaN, kNaN, .25f, .75f}, 2, 2, {1, 1});
  const LinkScore bad = ScoreLink(maps, {0, 0}, {0, 0}, {1, 1});
  EXPECT_TRUE(std::isnan(bad.weight));
  EXPECT_EQ(bad.rank, 0);
  EXPECT_EQ(bad.row_argmax, -1);
  EXPECT_TRUE(std::isnan(bad.row_max));
  EXPECT_TRUE(std::isnan(bad.entropy));
  EXPECT_TRUE(std::isnan(bad.norm));
  EXPECT_EQ(bad.baseline, .75);
  const LinkScore good = ScoreLink(maps, {0, 0}, {1, 1}, {1, 1});
  EXPECT_EQ(good.weight, .75);
  EXPECT_EQ(good.rank, 1);
  EXPECT_TRUE(std::isnan(good.baseline));
}

TEST(ScoreLinksTest, EmptyRow) {
  const LinkScore s =
      ScoreLink(OneMap({0, 0, .5f, .5f}, 2, 2), {0, 0}, {0, 0}, {1, 1});
  EXPECT_EQ(s.weight, 0);
  EXPECT_EQ(s.rank, 1);
  EXPECT_EQ(s.row_max, 0);
  EXPECT_EQ(s.row_argmax, 0);
  EXPECT_EQ(s.entropy, 0);
}

TEST(ScoreLinksTest, RangesAreChecked) {
  const AttentionMaps maps = OneMap({.5f, .5f, 1, 0}, 2, 2);
  EXPECT_THROW(ScoreLinks(maps, {0, 2}, {0, 0}), Error);
  EXPECT_THROW(ScoreLinks(maps, {1, 0}, {0, 0}), Error);
  EXPECT_THROW(ScoreLinks(maps, {0, 0}, {-1, 0}), Error);
  EXPECT_THROW(ScoreLink(maps, {0, 1}, {0, 0}, {0, 0}), Error);
}

// The definitions again, unit by unit, from sorted copies.
LinkScore BruteForce(const AttentionMaps& maps, HeadId head, TokenRange from,
                     TokenRange to) {
  const TensorView map = maps.Map(head);
  const int64_t n = maps.keys();
  const auto at = [&](int64_t i, int64_t j) {
    return double{map.As<float>()[i * n + j]};
  };
  std::vector<double> mean(n), units;
  LinkScore s;
  s.head = head;
  double carried = 0, others = 0;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = from.first; i <= from.last; ++i) mean[j] += at(i, j);
    mean[j] /= static_cast<double>(from.last - from.first + 1);
    const double norm = maps.ValueNorms(head).As<float>()[j];
    carried += mean[j] * norm;
    if (j >= to.first && j <= to.last) {
      s.weight += mean[j];
      s.norm += mean[j] * norm;
    } else {
      units.push_back(mean[j]);
    }
    s.entropy -= mean[j] * std::log(mean[j]);
  }
  s.norm /= carried;
  s.rank = 1 + std::count_if(units.begin(), units.end(),
                             [&](double u) { return u > s.weight; });
  units.push_back(s.weight);
  s.row_max = *std::max_element(units.begin(), units.end());
  for (int64_t i = 0; i < n; ++i) {
    if (i >= from.first && i <= from.last) continue;
    for (int64_t j = to.first; j <= to.last; ++j) s.baseline += at(i, j);
    ++others;
  }
  s.baseline /= others;
  s.lift = s.weight / s.baseline;
  return s;
}

TEST(ScoreLinksTest, RandomMapsAgainstBruteForce) {
  constexpr int64_t kTokens = 9;
  const AttentionMaps maps = RandomMaps(3, 4, kTokens, 7);
  std::mt19937 random(11);
  for (int trial = 0; trial < 40; ++trial) {
    const auto range = [&] {
      const int64_t a = random() % kTokens, b = random() % 3;
      return TokenRange{a, std::min(a + b, kTokens - 1)};
    };
    const TokenRange from = range(), to = range();
    const std::vector<LinkScore> scores = ScoreLinks(maps, from, to);
    ASSERT_EQ(scores.size(), 12u);
    EXPECT_EQ(scores[5].head, (HeadId{1, 1}));
    for (const LinkScore& s : scores) {
      const LinkScore want = BruteForce(maps, s.head, from, to);
      EXPECT_EQ(s.rank, want.rank);
      for (const LinkColumn& column : LinkColumns()) {
        if (std::string(column.name) == "row_argmax") continue;
        EXPECT_NEAR(column.value(s), column.value(want),
                    1e-12 * std::abs(column.value(want)))
            << column.name;
      }
    }
  }
}

TEST(LinkColumnsTest, NamesAndOrderOfTheFileFormat) {
  std::vector<std::string> names;
  for (const LinkColumn& column : LinkColumns()) names.push_back(column.name);
  EXPECT_THAT(names,
              testing::ElementsAre("weight", "rank", "row_max", "row_argmax",
                                   "entropy", "baseline", "lift", "norm"));
}

}  // namespace
}  // namespace regard::inline v0
