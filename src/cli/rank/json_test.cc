#include "cli/rank/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace regard::inline v0 {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RankRow Row(HeadId head, double weight, double lift) {
  RankRow row;
  row.score.head = head;
  row.score.weight = weight;
  row.score.rank = 2;
  row.score.row_max = 0.5;
  row.score.row_argmax = 1;
  row.score.entropy = 1.25;
  row.score.baseline = 0.25;
  row.score.lift = lift;
  row.score.norm = 0.75;
  return row;
}

RankColumn Column(std::vector<RankRow> rows) {
  auto text = std::make_shared<RankedText>();
  Token token;
  token.piece = "it";
  text->encoding.tokens = {token, token};
  text->encoding.texts = {"it it"};
  text->labels = {"it", "it#2"};
  RankColumn column;
  column.text = text;
  column.from = TokenSpan{0, 0, "it"};
  column.to = TokenSpan{1, 1, "it#2"};
  column.rows = std::move(rows);
  return column;
}

TEST(RankJsonTest, OneColumnInOrderOfWeightThenLayerThenHead) {
  RankOptions options;
  const Json json =
      RankJson({Column({Row({0, 0}, .125, 1), Row({0, 1}, .25, 1),
                        Row({1, 0}, .25, 1), Row({1, 1}, kNaN, 1)})},
               options);
  EXPECT_EQ(json.Find("tokens")->Dump(), "[\"it\",\"it\"]");
  EXPECT_EQ(json.Find("to")->Dump(),
            "{\"text\":\"it#2\",\"first\":1,\"last\":1}");
  const Json::Array& heads = json.Find("heads")->AsArray("heads");
  ASSERT_EQ(heads.size(), 4u);
  EXPECT_EQ(heads[0].Dump(),
            "{\"layer\":0,\"head\":1,\"weight\":0.25,\"rank\":2,"
            "\"row_max\":0.5,\"row_argmax\":1,\"entropy\":1.25,"
            "\"baseline\":0.25,\"lift\":1.0,\"norm\":0.75}");
  EXPECT_EQ(heads[1].Find("layer")->AsInt(""), 1);
  EXPECT_EQ(heads[3].Find("head")->AsInt(""), 1);
  EXPECT_TRUE(heads[3].Find("weight")->IsNull());
  EXPECT_EQ(json.Find("nonfinite")->AsInt(""), 1);
}

TEST(RankJsonTest, SortTopAndWhatIsUndefined) {
  RankOptions options;
  options.sort = "lift";
  options.top = 2;
  RankRow broken = Row({0, 1}, .25, kInfinity);
  broken.score.rank = 0;
  broken.score.row_argmax = -1;
  const Json json = RankJson(
      {Column({Row({0, 0}, .5, 3), broken, Row({0, 2}, .25, 9)})}, options);
  const Json::Array& heads = json.Find("heads")->AsArray("heads");
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].Find("head")->AsInt(""), 1);
  EXPECT_TRUE(heads[0].Find("lift")->IsNull());
  EXPECT_TRUE(heads[0].Find("rank")->IsNull());
  EXPECT_TRUE(heads[0].Find("row_argmax")->IsNull());
  EXPECT_EQ(heads[1].Find("head")->AsInt(""), 2);
  EXPECT_EQ(json.Find("nonfinite")->AsInt(""), 3);
}

TEST(RankJsonTest, ColumnsInGivenOrderDifferenceBySize) {
  const Json json =
      RankJson({Column({Row({0, 0}, .5, 1), Row({0, 1}, .25, 1)}),
                Column({Row({0, 0}, .375, 1), Row({0, 1}, .75, 1)})},
               RankOptions());
  const Json::Array& columns = json.Find("columns")->AsArray("columns");
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].Find("text")->AsString(""), "it it");
  const Json::Array& heads = columns[1].Find("heads")->AsArray("heads");
  EXPECT_EQ(heads[0].Find("weight")->AsNumber(""), .375);
  EXPECT_EQ(json.Find("difference")->Dump(),
            "[{\"layer\":0,\"head\":1,\"weight\":-0.5},"
            "{\"layer\":0,\"head\":0,\"weight\":0.125}]");
}

TEST(RankJsonTest, WithoutToEachHeadHasItsOwn) {
  RankRow row = Row({0, 0}, .5, 1);
  row.found = TokenSpan{1, 1, "it#2"};
  row.word = {{0, 0}, 0, 0, .125};
  RankColumn column = Column({row});
  column.to.reset();
  const Json json = RankJson({column}, RankOptions());
  EXPECT_EQ(json.Find("to"), nullptr);
  const Json& head = json.Find("heads")->AsArray("heads")[0];
  EXPECT_EQ(head.Find("to")->Dump(),
            "{\"text\":\"it#2\",\"first\":1,\"last\":1}");
  EXPECT_EQ(head.Find("word")->Dump(),
            "{\"text\":\"it\",\"first\":0,\"last\":0,\"weight\":0.125}");
}

}  // namespace
}  // namespace regard::inline v0
