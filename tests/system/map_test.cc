// regard map.
#include <gtest/gtest.h>

#include <cmath>
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
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kText[] = "The animal was too tired. It was the animal.";

class MapTest : public ::testing::Test {
 protected:
  MapTest() { WriteTinyModel(folder_ / "models/tiny"); }

  Finished Map(std::vector<std::string> arguments,
               RunSettings settings = {}) const {
    arguments.insert(arguments.begin(), {"map", "--model", "tiny"});
    settings.directory = folder_.path();
    settings.environment = {{"REGARD_MODELS", folder_ / "models"},
                            {"XDG_CACHE_HOME", folder_ / "cache"}};
    return RunRegard(arguments, settings);
  }
  std::string Bytes(const std::string& name,
                    std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", name});
    const Finished finished = Map(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err, StartsWith("regard: note: wrote " + name));
    return ReadText(folder_ / name);
  }
  void ExpectRefused(std::vector<std::string> arguments,
                     const std::string& text) const {
    ExpectError(Map(arguments), 2, HasSubstr(text));
  }

  TempDir folder_;
};

TEST_F(MapTest, NpzHasTheMembersOfTheContract) {
  Bytes("maps.npz", {kText, "--all"});
  const std::string path = folder_ / "maps.npz";
  EXPECT_THAT(
      ListArrays(path),
      UnorderedElementsAre("attention", "layers", "heads", "tokens", "ids",
                           "index", "offsets", "segments", "special", "meta"));
  // [CLS], eleven pieces, [SEP].
  const Tensor attention = ReadArray(path + ":attention");
  EXPECT_EQ(attention.shape(), Dims({2, 2, 13, 13}));
  for (int64_t row = 0; row < 2 * 2 * 13; ++row) {
    double sum = 0;
    for (int64_t key = 0; key < 13; ++key) {
      sum += double{attention.As<float>()[row * 13 + key]};
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_EQ(ReadArray(path + ":offsets").shape(), Dims({13, 2}));
  EXPECT_EQ(ReadArray(path + ":index").shape(), Dims({13, 2}));
  EXPECT_EQ(ReadArray(path + ":ids").As<int64_t>()[1], 4);
}

TEST_F(MapTest, SelectionsOfHeads) {
  const auto shape = [&](std::vector<std::string> heads) {
    heads.insert(heads.begin(), kText);
    Bytes("x.npz", heads);
    return ReadArray(folder_ / "x.npz:attention").shape();
  };
  EXPECT_EQ(shape({"--head", "L1H0"}), Dims({1, 1, 13, 13}));
  EXPECT_EQ(shape({"--layer", "-1"}), Dims({1, 2, 13, 13}));
  EXPECT_EQ(shape({"--head", "1"}), Dims({2, 1, 13, 13}));
  EXPECT_EQ(shape({"--average", "all"}), Dims({1, 1, 13, 13}));
}

TEST_F(MapTest, SameInputSameBytes) {
  for (const char* extension : {"svg", "png", "npz", "csv", "json"}) {
    const std::string name = std::string("x.") + extension;
    const std::string first = Bytes(name, {kText, "--head", "L1H1"});
    EXPECT_FALSE(first.empty());
    // Neither the name nor the number of threads leaves a trace.
    EXPECT_EQ(
        Bytes("other-" + name, {kText, "--head", "L1H1", "--threads", "3"}),
        first)
        << extension;
    EXPECT_EQ(first.find(folder_.path()), std::string::npos) << extension;
    EXPECT_EQ(first.find("other-"), std::string::npos) << extension;
  }
}

TEST_F(MapTest, JsonOnStdoutIsTheJsonFile) {
  const std::string file = Bytes("x.json", {kText, "--head", "L0H1"});
  const Finished finished = Map({kText, "--head", "L0H1", "--json"});
  EXPECT_EQ(finished.out, file);
  const Json json = Json::Parse(file, "x.json");
  for (const char* member : {"attention", "layers", "heads", "tokens", "ids",
                             "index", "offsets", "segments", "special"}) {
    EXPECT_NE(json.Find(member), nullptr) << member;
  }
  EXPECT_TRUE(json.Find("meta")->IsObject());
}

TEST_F(MapTest, TerminalTextHasNoColourInAPipe) {
  const Finished finished = Map({kText, "--from", "it"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("animal"));
  EXPECT_EQ(finished.out.find('\x1b'), std::string::npos);
  EXPECT_NE(Map({kText, "--color", "always"}).out.find('\x1b'),
            std::string::npos);
}

TEST_F(MapTest, TextsThatNameNothing) {
  ExpectRefused({""}, "text: is empty");
  ExpectRefused({" \t"}, "text: holds nothing but invisible characters");
  ExpectRefused({kText, "--pair", ""}, "--pair: is empty");
  ExpectRefused({}, "text: none was given");
}

TEST_F(MapTest, WordsThatAreNotThereOrTwice) {
  ExpectRefused({kText, "--from", "street"}, "street");
  ExpectRefused({kText, "--from", "animal"}, "occurs 2 times");
  ExpectRefused({kText, "--from", "anim"}, "animal");
  ExpectRefused({kText, "--from", "animal#3"}, "animal");
  ExpectRefused({kText, "--from", "@13"}, "@13");
  EXPECT_EQ(Map({kText, "--from", "animal#2"}).status, 0);
}

TEST_F(MapTest, HeadsThatDoNotExist) {
  ExpectRefused({kText, "--layer", "2"}, "there is no layer 2");
  ExpectRefused({kText, "--layer", "0", "--head", "2"}, "there is no head 2");
  ExpectRefused({kText, "--head", "L0H2"}, "there is no L0H2");
}

TEST_F(MapTest, TextsThatAreTooLong) {
  std::string text;
  for (int i = 0; i < 15; ++i) text += "it ";
  // 17 tokens with [CLS] and [SEP], 16 positions.
  const Finished finished = Map({text});
  ExpectError(finished, 2,
              AllOf(HasSubstr("17"), HasSubstr("16"), HasSubstr("--truncate")));
  const Finished cut = Map({text, "--truncate", "--json", "--head", "L0H0"});
  EXPECT_EQ(cut.status, 0);
  EXPECT_EQ(Json::Parse(cut.out, "map").Find("ids")->AsArray("").size(), 16u);
  EXPECT_THAT(cut.err, HasSubstr("regard: note: "));
}

TEST_F(MapTest, NanInTheWeightsIsNamedAndStillDrawn) {
  WriteTinyModel(folder_ / "models/tiny", [](NamedTensors& tensors) {
    tensors["encoder.layer.1.attention.self.query.bias"].AsMutable<float>()[0] =
        std::numeric_limits<float>::quiet_NaN();
  });
  const Finished finished = Map({kText, "-o", "x.svg"});
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.err,
              HasSubstr("encoder.layer.1.attention.self.query.bias"));
  EXPECT_THAT(ReadText(folder_ / "x.svg"), HasSubstr("</svg>"));
  const Finished json = Map({kText, "--json", "--head", "L1H0"});
  EXPECT_EQ(json.status, 0);
  const Json map = Json::Parse(json.out, "map");
  EXPECT_EQ(map.Find("nonfinite")->AsInt(""), 13 * 13);
  EXPECT_EQ(Map({kText}).status, 0);
}

TEST_F(MapTest, NothingIsLeftWhenWritingFails) {
  Map({kText, "--json"});  // the hash is in the cache
  const auto names = folder_.Names();
  for (const char* extension : {"svg", "png", "npz", "csv", "json"}) {
    const std::string name = std::string("x.") + extension;
    ExpectError(Map({kText, "-o", "no/" + name}), 1,
                HasSubstr("no/" + name + ": can't be written"));
    ExpectError(
        Map({kText, "--head", "L0H0", "-o", name}, {.file_size_limit = 512}), 1,
        HasSubstr(name + ": can't be written"));
    ExpectError(Map({kText, "-o", "/dev/full", "--format", extension}), 1,
                HasSubstr("/dev/full: can't be written: no space left"));
  }
  ExpectError(Map({kText, "--all", "-o", "x.npz", "--max-size", "1k"}), 1,
              AllOf(HasSubstr("it would take"), HasSubstr("--max-size")));
  EXPECT_EQ(folder_.Names(), names);
}

TEST_F(MapTest, LinksAreFollowed) {
  std::filesystem::create_symlink("target.svg", folder_ / "link.svg");
  Bytes("link.svg", {kText});
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link.svg"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder_ / "target.svg"));
}

TEST_F(MapTest, ReceiptWithJson) {
  const Json receipt = JsonOf(Map({kText, "-o", "x.npz", "--json", "--quiet"}));
  EXPECT_EQ(receipt.Find("wrote")->AsString(""), "x.npz");
}

TEST_F(MapTest, BrokenModelsAreOneLineAndLeaveNoFile) {
  const std::string weights = folder_ / "models/tiny/model.safetensors";
  const std::string bytes = ReadText(weights);
  WriteFile(weights, bytes.substr(0, bytes.size() - 4));
  ExpectError(Map({kText, "-o", "x.svg"}), 1, HasSubstr("model.safetensors: "));
  WriteFile(weights, bytes);
  std::filesystem::remove(folder_ / "models/tiny/tokenizer.json");
  ExpectError(Map({kText, "-o", "x.svg"}), 1,
              HasSubstr("holds no tokenizer.json"));
  EXPECT_THAT(folder_.Names(), ElementsAre("models"));
}

TEST_F(MapTest, RealModel) {
  const Finished finished =
      RunRegard({"map", kText, "--head", "L3H1", "--json"});
  if (finished.status == 1 &&
      finished.err.find("./dev model") != std::string::npos) {
    GTEST_SKIP() << "the model is not here: ./dev model all-minilm-l6-v2";
  }
  EXPECT_EQ(JsonOf(finished).Find("meta")->Find("sha256")->AsString(""),
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db");
}

}  // namespace
}  // namespace regard::inline v0
