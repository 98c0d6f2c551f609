// regard rank: what is in its output, member by member.
#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "run_regard.h"
#include "tiny_model.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// [CLS] the animal was too tired . it was [SEP]
constexpr char kText[] = "The animal was too tired. It was";

class RankContentTest : public ::testing::Test {
 protected:
  RankContentTest() { WriteTinyModel(folder_ / "models/tiny"); }

  Finished Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--model", "tiny"});
    return RunRegard(arguments,
                     {.directory = folder_.path(),
                      .environment = {{"REGARD_MODELS", folder_ / "models"}}});
  }
  Json Rank(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"rank", "--json"});
    return JsonOf(Run(arguments));
  }

  TempDir folder_;
};

double At(const Json& json, const std::vector<size_t>& path) {
  const Json* value = &json;
  for (const size_t i : path) value = &value->AsArray("path")[i];
  return value->AsNumber("path");
}

TEST_F(RankContentTest, WeightsAreThoseOfTheMap) {
  const Json rank = Rank({kText, "--from", "it", "--to", "animal"});
  EXPECT_EQ(rank.Find("from")->Dump(), R"({"text":"it","first":7,"last":7})");
  EXPECT_EQ(rank.Find("to")->Find("first")->AsInt(""), 2);
  const Json map = JsonOf(Run({"map", kText, "--json"}));
  const Json::Array& heads = rank.Find("heads")->AsArray("heads");
  ASSERT_EQ(heads.size(), 4u);
  double last = 2;
  for (const Json& head : heads) {
    const size_t layer = head.Find("layer")->AsInt("");
    const size_t index = head.Find("head")->AsInt("");
    const double weight = head.Find("weight")->AsNumber("");
    EXPECT_NEAR(weight, At(*map.Find("attention"), {layer, index, 7, 2}), 1e-7);
    EXPECT_LE(weight, last);
    last = weight;
    const double norm = head.Find("norm")->AsNumber("");
    EXPECT_GT(norm, 0);
    EXPECT_LT(norm, 1);
  }
}

TEST_F(RankContentTest, SeveralTargetsAndTexts) {
  const Json targets =
      Rank({kText, "--from", "it", "--to", "animal", "--to", "[CLS]"});
  EXPECT_EQ(targets.Find("columns")->AsArray("").size(), 2u);
  EXPECT_EQ(targets.Find("difference")->AsArray("").size(), 4u);
  const Json texts = Rank({kText, "--text", "it was the animal", "--from", "it",
                           "--to", "animal", "--to", "the"});
  const Json::Array& columns = texts.Find("columns")->AsArray("");
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[2].Find("text")->AsString(""), "it was the animal");
  EXPECT_EQ(columns[1].Find("to")->Find("text")->AsString(""), "the");
}

TEST_F(RankContentTest, OneEndIsEnough) {
  const Json targets = Rank({kText, "--from", "it"});
  EXPECT_EQ(targets.Find("to"), nullptr);
  for (const Json& head : targets.Find("heads")->AsArray("")) {
    EXPECT_EQ(head.Find("rank")->AsInt(""), 1);
    EXPECT_EQ(head.Find("row_argmax")->AsInt(""),
              head.Find("to")->Find("first")->AsInt(""));
  }
  const Json sources = Rank({kText, "--to", "animal"});
  const Json& first = sources.Find("heads")->AsArray("")[0];
  EXPECT_NE(first.Find("from"), nullptr);
}

TEST_F(RankContentTest, TablesForPeople) {
  const Finished one =
      Run({"rank", kText, "--from", "it", "--to", "animal", "--top", "2"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("it -> animal"), HasSubstr("baseline"),
                             HasSubstr("2 more heads: --top 4")));
  EXPECT_THAT(Run({"rank", kText, "--from", "it"}).out,
              HasSubstr("strongest target"));
  EXPECT_THAT(
      Run({"rank", kText, "--from", "it", "--to", "animal", "--to", "the"}).out,
      HasSubstr("a - b"));
}

TEST_F(RankContentTest, EachMistakeIsOneLine) {
  const auto expect = [&](std::vector<std::string> arguments,
                          const std::string& what) {
    arguments.insert(arguments.begin(), "rank");
    ExpectError(Run(arguments), 2, HasSubstr(what));
  };
  expect({"--from", "it"}, "none was given");
  expect({kText}, "neither --from nor --to");
  expect({"", "--from", "it"}, "empty");
  expect({kText, "--from", "street", "--to", "animal"}, "street");
  expect({kText, "--from", "it", "--to", "was"}, "was#2");
  expect({kText, "--text", kText, "--from", "it"}, "both --from and --to");
  expect({kText, "--from", "it", "--to", "the", "--top", "0"}, "--top");
  expect({kText, "--from", "it", "--sort", "rank"}, "--sort");
  expect({kText, "--from", "it", "--to", "the", "--to", "animal", "--sort",
          "lift"},
         "--sort");
  expect({kText, "--from", "it", "--file", "cases.tsv"}, "later version");
  expect({kText, "--from", "@10"}, "@10");
}

}  // namespace
}  // namespace regard::inline v0
