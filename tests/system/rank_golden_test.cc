// regard rank against what its definitions give on Transformers' weights and
// values (tests/golden/compare_rank.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "io/file.h"
#include "run_regard.h"

namespace regard::inline v0 {
namespace {

const Json& HeadOf(const Json::Array& heads, const Json& like) {
  for (const Json& head : heads) {
    if (head.Find("layer")->Dump() == like.Find("layer")->Dump() &&
        head.Find("head")->Dump() == like.Find("head")->Dump()) {
      return head;
    }
  }
  ADD_FAILURE() << "no head as " << like.Dump();
  return like;
}

// Bounds as in the script; the goldens have seven digits.
void ExpectNear(const Json& got, const Json& want) {
  for (const char* name : {"weight", "row_max", "baseline", "norm"}) {
    EXPECT_NEAR(got.Find(name)->AsNumber(name), want.Find(name)->AsNumber(name),
                1e-5)
        << name << " of " << got.Dump();
  }
  EXPECT_NEAR(got.Find("entropy")->AsNumber(""),
              want.Find("entropy")->AsNumber(""), 1e-4);
  const double lift = want.Find("lift")->AsNumber("");
  EXPECT_NEAR(got.Find("lift")->AsNumber(""), lift,
              1e-3 * std::max(1.0, std::abs(lift)));
  for (const char* name : {"rank", "row_argmax"}) {
    EXPECT_EQ(got.Find(name)->AsInt(name), want.Find(name)->AsInt(name))
        << name << " of " << got.Dump();
  }
}

TEST(RankGoldenTest, EveryColumnOfMiniLM) {
  const Json cases = Json::Parse(
      ReadText(REGARD_SOURCE_DIR "/tests/golden/rank/minilm.json"), "golden");
  ASSERT_EQ(cases.AsArray("golden").size(), 3u);
  for (const Json& one : cases.AsArray("golden")) {
    std::vector<std::string> arguments = {
        "rank",   one.Find("text")->AsString(""),
        "--from", one.Find("from")->AsString(""),
        "--to",   one.Find("to")->AsString(""),
        "--json"};
    if (one.Find("pair")->IsString()) {
      arguments.insert(arguments.end(),
                       {"--pair", one.Find("pair")->AsString("")});
    }
    const Finished finished = RunRegard(arguments);
    if (finished.status == 1 &&
        finished.err.find("./dev model") != std::string::npos) {
      GTEST_SKIP() << "the model is not here: ./dev model all-minilm-l6-v2";
    }
    const Json rank = JsonOf(finished);
    const Json::Array& heads = rank.Find("heads")->AsArray("heads");
    const Json::Array& wanted = one.Find("heads")->AsArray("heads");
    ASSERT_EQ(heads.size(), 72u);
    ASSERT_EQ(wanted.size(), 72u);
    for (const Json& want : wanted) ExpectNear(HeadOf(heads, want), want);
  }
}

}  // namespace
}  // namespace regard::inline v0
