// regard map: what is in its output, member by member.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/io.h"
#include "run_regard.h"
#include "tiny_model.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// [CLS] the animal was too tired . it was [SEP]: ten tokens.
constexpr char kText[] = "The animal was too tired. It was";
constexpr int64_t kTokens = 10;

class MapContentTest : public ::testing::Test {
 protected:
  MapContentTest() { WriteTinyModel(folder_ / "models/tiny"); }

  Finished Map(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"map", "--model", "tiny"});
    return RunRegard(arguments,
                     {.directory = folder_.path(),
                      .environment = {{"REGARD_MODELS", folder_ / "models"}}});
  }
  std::string Read(const std::string& name) const {
    return ReadText(folder_ / name);
  }
  // Names in the folder beside models/.
  std::vector<std::string> Files() const {
    std::vector<std::string> names = folder_.Names();
    std::erase(names, "models");
    return names;
  }

  TempDir folder_;
};

TEST_F(MapContentTest, JsonHoldsAllHeadsAndRowsSumToOne) {
  const Json json = JsonOf(Map({kText, "--json"}));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.AsObject("map")) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("attention", "layers", "heads", "tokens",
                                 "ids", "index", "offsets", "segments",
                                 "special", "meta", "nonfinite"));
  EXPECT_EQ(json.Find("layers")->Dump(), "[0,1]");
  EXPECT_EQ(json.Find("heads")->Dump(), "[0,1]");
  EXPECT_EQ(json.Find("nonfinite")->AsInt(""), 0);
  int64_t rows = 0;
  for (const Json& layer : json.Find("attention")->AsArray("")) {
    for (const Json& head : layer.AsArray("")) {
      for (const Json& row : head.AsArray("")) {
        double sum = 0;
        for (const Json& weight : row.AsArray("")) sum += weight.AsNumber("");
        EXPECT_NEAR(sum, 1, 1e-5);
        EXPECT_EQ(row.AsArray("").size(), size_t{kTokens});
        ++rows;
      }
    }
  }
  EXPECT_EQ(rows, 4 * kTokens);
  const Json& meta = *json.Find("meta");
  EXPECT_EQ(meta.Find("model")->AsString(""), "tiny");
  EXPECT_EQ(meta.Find("sha256")->AsString("").size(), 64u);
  EXPECT_THAT(meta.Dump(), Not(HasSubstr(folder_.path())));
}

TEST_F(MapContentTest, JsonFileAndStdoutAreTheSameBytes) {
  const Finished printed = Map({kText, "--json"});
  const Finished written = Map({kText, "-o", "x.json", "--quiet"});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(Read("x.json"), printed.out);
}

TEST_F(MapContentTest, NpzAgreesWithJsonAndHasAReceipt) {
  const Finished run = Map({kText, "-o", "x.npz", "--json", "--quiet"});
  const Json receipt = JsonOf(run);
  EXPECT_EQ(receipt.Find("format")->AsString(""), "npz");
  const Tensor attention = ReadArray((folder_ / "x.npz") + ":attention");
  ASSERT_EQ(attention.shape(), (Dims{2, 2, kTokens, kTokens}));
  const Json json = JsonOf(Map({kText, "--json"}));
  const Json& cell = json.Find("attention")
                         ->AsArray("")[1]
                         .AsArray("")[0]
                         .AsArray("")[2]
                         .AsArray("")[3];
  EXPECT_EQ(static_cast<float>(cell.AsNumber("")),
            attention.As<float>()[(2 * kTokens + 2) * kTokens + 3]);
  EXPECT_THAT(Read("x.npz"), Not(HasSubstr(folder_.path())));
  EXPECT_THAT(Files(), ElementsAre("x.npz"));
}

TEST_F(MapContentTest, SelectionsAndAverages) {
  const auto shape = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kText, "-o", "x.npz", "--quiet"});
    const Finished run = Map(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return ToString(ReadArray((folder_ / "x.npz") + ":attention").shape()) +
           " " +
           ToString(Dims{
               ReadArray((folder_ / "x.npz") + ":layers").As<int64_t>()[0]}) +
           ToString(Dims{
               ReadArray((folder_ / "x.npz") + ":heads").As<int64_t>()[0]});
  };
  EXPECT_EQ(shape({"--all"}), "[2, 2, 10, 10] [0][0]");
  EXPECT_EQ(shape({"--head", "L1H1"}), "[1, 1, 10, 10] [1][1]");
  EXPECT_EQ(shape({"--head", "L0H0,L1H1"}), "[2, 2, 10, 10] [0][0]");
  EXPECT_EQ(shape({"--layer", "-1"}), "[1, 2, 10, 10] [1][0]");
  EXPECT_EQ(shape({"--average", "heads"}), "[2, 1, 10, 10] [0][-1]");
  EXPECT_EQ(shape({"--average", "all"}), "[1, 1, 10, 10] [-1][-1]");
  EXPECT_EQ(shape({"--hide-special"}), "[2, 2, 8, 8] [0][0]");
  EXPECT_EQ(shape({"--hide-first", "3"}), "[2, 2, 7, 7] [0][0]");
}

TEST_F(MapContentTest, HiddenTokensLeaveEveryFormatAlike) {
  const Json json =
      JsonOf(Map({kText, "--hide-special", "--renormalize", "--json"}));
  EXPECT_EQ(json.Find("index")->AsArray("")[0].Dump(), "[1,1]");
  EXPECT_EQ(json.Find("tokens")->AsArray("").size(), 8u);
  const Json& row =
      json.Find("attention")->AsArray("")[0].AsArray("")[0].AsArray("")[0];
  double sum = 0;
  for (const Json& weight : row.AsArray("")) sum += weight.AsNumber("");
  EXPECT_NEAR(sum, 1, 1e-5);
  const Finished csv =
      Map({kText, "--hide-special", "--head", "L0H0", "--format", "csv"});
  EXPECT_THAT(csv.out, Not(HasSubstr("[CLS]")));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 8 * 8);
  EXPECT_THAT(Map({kText, "--hide-special"}).out, HasSubstr("hidden"));
}

TEST_F(MapContentTest, PicturesAreOfTheirKindAndRepeatable) {
  ASSERT_EQ(Map({kText, "-o", "a.svg"}).status, 0);
  ASSERT_EQ(Map({kText, "-o", "b.svg"}).status, 0);
  EXPECT_EQ(Read("a.svg"), Read("b.svg"));
  EXPECT_THAT(Read("a.svg"),
              AllOf(HasSubstr("<svg"), HasSubstr(">animal<"),
                    HasSubstr("mean of 4 heads"), Not(HasSubstr("a.svg"))));
  ASSERT_EQ(Map({kText, "--all", "-o", "grid.svg", "--title", "a<b"}).status,
            0);
  EXPECT_THAT(Read("grid.svg"), AllOf(HasSubstr("a&lt;b"), HasSubstr("L1")));
  ASSERT_EQ(Map({kText, "--head", "L0H1", "-o", "x.png", "--dpi", "60"}).status,
            0);
  EXPECT_EQ(Read("x.png").substr(0, 8), "\x89PNG\r\n\x1a\n");
}

TEST_F(MapContentTest, TerminalPictures) {
  const Finished plain = Map({kText});
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out,
              AllOf(HasSubstr("Strongest links"), HasSubstr("--head L"),
                    HasSubstr("animal"), Not(HasSubstr("\x1b"))));
  const Finished from = Map({kText, "--from", "it"});
  EXPECT_THAT(from.out, AllOf(HasSubstr("Strongest word for \"it\""),
                              HasSubstr("L1"), HasSubstr("H1")));
  EXPECT_THAT(Map({kText, "--color", "always"}).out, HasSubstr("\x1b[48;2;"));
}

TEST_F(MapContentTest, SpansAreMarkedWhole) {
  const Finished run = Map({kText, "--head", "L0H0", "--from", "was too"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n>@3 "));
  EXPECT_THAT(run.out, HasSubstr("\n>@4 "));
  EXPECT_THAT(run.out, Not(HasSubstr("\n>@5 ")));
  // A grid is marked too.
  EXPECT_EQ(Map({kText, "--all", "-o", "x.svg", "--to", "was too"}).status, 0);
  EXPECT_EQ(Map({kText, "--all", "-o", "y.svg"}).status, 0);
  EXPECT_NE(Read("x.svg"), Read("y.svg"));
}

TEST_F(MapContentTest, EachMistakeIsOneLine) {
  const auto expect = [&](const std::vector<std::string>& arguments, int status,
                          const std::string& what) {
    ExpectError(Map(arguments), status, HasSubstr(what));
  };
  expect({""}, 2, "empty");
  expect({}, 2, "none was given");
  expect({kText, "--layer", "2"}, 2, "layer 2");
  expect({kText, "--head", "L0H2"}, 2, "L0H2");
  expect({kText, "--from", "street"}, 2, "street");
  expect({kText, "--from", "was"}, 2, "was#2");
  expect({kText, "--from", "[CLS]", "--hide-special"}, 2, "hidden");
  expect({kText, "--hide-first", "10"}, 2, "all 10 tokens");
  expect({kText, "--renormalize"}, 2, "nothing is hidden");
  expect({kText, "--all", "--head", "L0H0"}, 2, "--all");
  expect({kText, "--vmin", "0.5", "--vmax", "0.5"}, 2, "--vmax");
  expect({kText, "-o", "x.txt"}, 2, "x.txt");
  expect({kText, "-o", "no/x.svg"}, 1, "no/x.svg");
  expect({kText, "-o", "x.npz", "--max-size", "1k"}, 1, "--max-size");
  expect({kText, "-o", "x.svg", "--max-size", "1k"}, 1, "--max-size");
  expect({std::string(kText) + " it it it it it it it"}, 2, "17");
  EXPECT_THAT(Files(), ElementsAre());
}

TEST_F(MapContentTest, TooLongIsCutWhenAsked) {
  const Finished run = Map({std::string(kText) + " it it it it it it it",
                            "--truncate", "--format", "json"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("1 token beyond the limit of 16 was cut"));
  EXPECT_EQ(Json::Parse(run.out, "map").Find("ids")->AsArray("").size(), 16u);
}

TEST_F(MapContentTest, WhatComesLaterIsRefusedByName) {
  const auto expect = [&](const std::vector<std::string>& arguments,
                          const std::string& what) {
    std::vector<std::string> all = {kText};
    all.insert(all.end(), arguments.begin(), arguments.end());
    ExpectError(Map(all), 2,
                AllOf(HasSubstr(what), HasSubstr("later version")));
  };
  expect({"--words"}, "--words");
  expect({"--view", "arcs"}, "arcs");
  expect({"--theme", "dark"}, "--theme");
  expect({"--save", "scores"}, "--save");
  expect({"-o", "x.pdf"}, "pdf");
  expect({"-o", "x", "--format", "graphml"}, "graphml");
}

TEST_F(MapContentTest, NaNInTheWeightsIsNamedAndDrawn) {
  WriteTinyModel(folder_ / "models/tiny", [](NamedTensors& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name.find("layer.1.attention.self.query.bias") != name.npos) {
        tensor.AsMutable<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      }
    }
  });
  const Finished run = Map({kText, "-o", "x.svg"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("layer.1.attention.self.query.bias"));
  EXPECT_THAT(Read("x.svg"), HasSubstr("<svg"));
  const Finished json = Map({kText, "--json"});
  const Json map = Json::Parse(json.out, "map");
  EXPECT_EQ(map.Find("nonfinite")->AsInt(""), kTokens * kTokens);
  EXPECT_TRUE(map.Find("attention")
                  ->AsArray("")[1]
                  .AsArray("")[0]
                  .AsArray("")[0]
                  .AsArray("")[0]
                  .IsNull());
}

}  // namespace
}  // namespace regard::inline v0
