#include "cli/paint.h"

#include <gtest/gtest.h>

#include <limits>

#include "cli/head_table.h"

namespace regard::inline v0 {
namespace {

TEST(PaintTest, NothingButTextWithoutColour) {
  EXPECT_EQ(OnBackground("a", {1, 2, 3}, false), "a");
  EXPECT_EQ(Bold("a", false) + Dim("b", false), "ab");
}

TEST(PaintTest, InkReadsOnItsBackground) {
  EXPECT_EQ(OnBackground("a", {250, 250, 250}, true),
            "\x1b[48;2;250;250;250m\x1b[38;2;0;0;0ma\x1b[0m");
  EXPECT_NE(OnBackground("a", {8, 48, 107}, true).find("255;255;255"),
            std::string::npos);
}

TEST(PaintTest, Hundredths) {
  EXPECT_EQ(Hundredths(0.074, 3), "  7");
  EXPECT_EQ(Hundredths(0.995, 3), "100");
  EXPECT_EQ(Hundredths(std::numeric_limits<double>::quiet_NaN(), 4), " nan");
}

TEST(PaintTest, BarsInEighths) {
  EXPECT_EQ(Bar(0.5, 2), "█ ");
  EXPECT_EQ(Bar(0.8125, 2), "█▋");
  EXPECT_EQ(Bar(7, 2), "██");
  EXPECT_EQ(Bar(-1, 2), "  ");
  EXPECT_EQ(Bar(std::numeric_limits<double>::quiet_NaN(), 1), " ");
}

TEST(HeadTableTest, HeadsDownLayersAcross) {
  const std::vector<Link> links = {{{0, 0}, 1, 0, 0.5},
                                   {{0, 1}, 1, 1, 0.07},
                                   {{1, 0}, 1, -1, 0},
                                   {{1, 1}, 1, 0, 1}};
  EXPECT_EQ(HeadTable(links, {"animals-and-more", "it"}, 80, false),
            "     L0            L1\n"
            "H0   animals-…  50 -           0\n"
            "H1   it          7 animals-… 100\n");
  EXPECT_EQ(StrongestOf(links).head, (HeadId{1, 1}));
}

TEST(HeadTableTest, LayersThatDoNotFitGoBelow) {
  std::vector<Link> links;
  for (int layer = 0; layer < 8; ++layer)
    links.push_back({{layer, 0}, 0, 0, 1});
  const std::string table = HeadTable(links, {"a"}, 80, false);
  EXPECT_NE(table.find("L5\n"), std::string::npos) << table;
  EXPECT_NE(table.find("\n\n     L6"), std::string::npos) << table;
}

}  // namespace
}  // namespace regard::inline v0
