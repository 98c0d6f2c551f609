// regard rank.
#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "run_regard.h"
#include "tiny_model.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] = "The animal was too tired. It was the animal.";

class RankTest : public ::testing::Test {
 protected:
  RankTest() { WriteTinyModel(folder_ / "models/tiny"); }

  Finished Rank(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"rank", "--model", "tiny"});
    return RunRegard(arguments,
                     {.directory = folder_.path(),
                      .environment = {{"REGARD_MODELS", folder_ / "models"}}});
  }

  TempDir folder_;
};

double Number(const Json& object, const char* key) {
  return object.Find(key)->AsNumber(key);
}

TEST_F(RankTest, JsonHasEveryHeadOrderedByWeight) {
  const Json json =
      JsonOf(Rank({kText, "--from", "it", "--to", "tired", "--json"}));
  EXPECT_EQ(json.Find("from")->Dump(), R"({"text":"it","first":7,"last":7})");
  EXPECT_EQ(json.Find("to")->Dump(), R"({"text":"tired","first":5,"last":5})");
  const Json::Array& heads = json.Find("heads")->AsArray("heads");
  ASSERT_EQ(heads.size(), 4u);
  for (size_t i = 0; i < heads.size(); ++i) {
    for (const char* key :
         {"layer", "head", "weight", "rank", "row_max", "row_argmax", "entropy",
          "baseline", "lift", "norm"}) {
      ASSERT_NE(heads[i].Find(key), nullptr) << key;
    }
    EXPECT_NEAR(Number(heads[i], "lift"),
                Number(heads[i], "weight") / Number(heads[i], "baseline"),
                1e-9);
    if (i > 0) {
      EXPECT_LE(Number(heads[i], "weight"), Number(heads[i - 1], "weight"));
    }
  }
}

TEST_F(RankTest, WeightsAreThoseOfTheMap) {
  const Json rank =
      JsonOf(Rank({kText, "--from", "it", "--to", "tired", "--json"}));
  const Json map = JsonOf(
      RunRegard({"map", "--model", folder_ / "models/tiny", kText, "--json"},
                {.environment = {{"XDG_CACHE_HOME", folder_ / "cache"}}}));
  for (const Json& head : rank.Find("heads")->AsArray("")) {
    const auto layer = static_cast<size_t>(head.Find("layer")->AsInt(""));
    const auto index = static_cast<size_t>(head.Find("head")->AsInt(""));
    const Json& row = map.Find("attention")
                          ->AsArray("")[layer]
                          .AsArray("")[index]
                          .AsArray("")[7];
    EXPECT_NEAR(Number(head, "weight"), row.AsArray("")[5].AsNumber(""), 1e-7);
  }
}

TEST_F(RankTest, SeveralTargetsAreColumnsWithADifference) {
  const Json json = JsonOf(Rank(
      {kText, "--from", "it", "--to", "tired", "--to", "animal#1", "--json"}));
  const Json::Array& columns = json.Find("columns")->AsArray("");
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[1].Find("to")->Find("text")->AsString(""), "animal#1");
  const Json::Array& differences = json.Find("difference")->AsArray("");
  ASSERT_EQ(differences.size(), 4u);
  const auto weight = [&](size_t column, const Json& of) {
    for (const Json& head : columns[column].Find("heads")->AsArray("")) {
      if (head.Find("layer")->AsInt("") == of.Find("layer")->AsInt("") &&
          head.Find("head")->AsInt("") == of.Find("head")->AsInt("")) {
        return Number(head, "weight");
      }
    }
    return -1.0;
  };
  for (const Json& difference : differences) {
    EXPECT_NEAR(Number(difference, "weight"),
                weight(0, difference) - weight(1, difference), 1e-12);
  }
}

TEST_F(RankTest, TwoTextsAreColumns) {
  const Json json = JsonOf(Rank({kText, "--text", "It was too tired.", "--from",
                                 "it", "--to", "tired", "--json"}));
  EXPECT_EQ(json.Find("columns")->AsArray("").size(), 2u);
}

TEST_F(RankTest, SpecialTokensAsTheShellHandsThemOver) {
  EXPECT_EQ(Rank({"--from", "it", "--to", "[CLS]", kText}).status, 0);
  EXPECT_EQ(Rank({kText, "--to", "[SEP]"}).status, 0);
  EXPECT_EQ(Rank({kText, "--from", "@0"}).status, 0);
}

TEST_F(RankTest, TopLimitsTheHeads) {
  EXPECT_EQ(JsonOf(Rank({kText, "--from", "it", "--to", "tired", "--json",
                         "--top", "3"}))
                .Find("heads")
                ->AsArray("")
                .size(),
            3u);
  ExpectError(Rank({kText, "--from", "it", "--to", "tired", "--top", "0"}), 2,
              HasSubstr("--top: '0' is not a whole number of at least 1"));
}

TEST_F(RankTest, WhatCannotBeRankedExitsWith2) {
  const auto refused = [&](std::vector<std::string> arguments,
                           const std::string& text) {
    ExpectError(Rank(arguments), 2, HasSubstr(text));
  };
  refused({kText}, "--from");
  refused({"", "--from", "it"}, "text: is empty");
  refused({kText, "--from", "street", "--to", "it"}, "street");
  refused({kText, "--from", "it", "--to", "was"}, "occurs 2 times");
  refused({kText, "--from", "it", "--to", "tired", "--layer", "9"},
          "there is no layer 9");
  refused({kText, "--from", "--to", "tired"}, "--from: needs a value");
}

}  // namespace
}  // namespace regard::inline v0
