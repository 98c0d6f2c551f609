// regard info: this machine, models, files; and everything that can be wrong
// with a model.
#include <gtest/gtest.h>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/io.h"
#include "run_regard.h"
#include "tiny_model.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class InfoTest : public ::testing::Test {
 protected:
  InfoTest() { WriteTinyModel(folder_ / "models/tiny"); }

  RunSettings Settings() const {
    return {.directory = folder_.path(),
            .environment = {{"REGARD_MODELS", folder_ / "models"},
                            {"XDG_CACHE_HOME", folder_ / "cache"}}};
  }
  Finished Info(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "info");
    return RunRegard(arguments, Settings());
  }
  std::string Weights() const {
    return folder_ / "models/tiny/model.safetensors";
  }
  // One line, status 1, for whoever loads the model.
  void ExpectBroken(const ::testing::Matcher<const std::string&>& line) const {
    ExpectError(Info({"tiny"}), 1, line);
  }

  TempDir folder_;
};

TEST_F(InfoTest, Machine) {
  const Json json = JsonOf(Info({"--json", "--threads", "3"}));
  EXPECT_EQ(json.Find("threads")->AsInt(""), 3);
  EXPECT_EQ(json.Find("kernels")->AsArray("").back().AsString(""), "reference");
  EXPECT_EQ(json.Find("instruction_set_used")->Dump(),
            json.Find("instruction_sets_usable")->AsArray("")[0].Dump());
}

TEST_F(InfoTest, InstructionSetsCanBeCapped) {
  const Json all = JsonOf(Info({"--json"}));
  const std::string last =
      all.Find("instruction_sets_built")->AsArray("").back().AsString("");
  RunSettings capped = Settings();
  capped.environment["REGARD_MAX_ISA"] = last;
  EXPECT_EQ(JsonOf(RunRegard({"info", "--json"}, capped))
                .Find("instruction_set_used")
                ->AsString(""),
            last);
  capped.environment["REGARD_MAX_ISA"] = "AVX9";
  ExpectError(RunRegard({"info"}, capped), 2, HasSubstr("AVX9"));
}

TEST_F(InfoTest, Model) {
  const Json json = JsonOf(Info({"tiny", "--json"}));
  EXPECT_EQ(json.Find("family")->AsString(""), "bert");
  EXPECT_EQ(json.Find("layers")->AsInt(""), 2);
  EXPECT_EQ(json.Find("heads")->AsInt(""), 2);
  EXPECT_EQ(json.Find("hidden_size")->AsInt(""), 8);
  EXPECT_EQ(json.Find("max_positions")->AsInt(""), 16);
  EXPECT_THAT(json.Find("tokenizer")->AsString(""), HasSubstr("WordPiece"));
  const std::string bytes = ReadText(Weights());
  EXPECT_EQ(json.Find("sha256")->AsString(""),
            Sha256Hex(bytes.data(), bytes.size()));
  EXPECT_EQ(Info({"--model", "tiny"}).out, Info({"tiny"}).out);
}

TEST_F(InfoTest, VerifyComputesTheHashAnew) {
  const auto sha256 = [&](std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return JsonOf(Info(arguments)).Find("sha256")->AsString("");
  };
  const std::string right = sha256({"tiny"});
  // A digest that no file has shows where the answer comes from.
  const std::filesystem::directory_iterator cached(folder_ /
                                                   "cache/regard/sha256");
  const std::string path = cached->path().string();
  ReplaceInFile(path, right.substr(0, 8), "00000000");
  EXPECT_EQ(sha256({"tiny"}).substr(0, 8), "00000000");
  EXPECT_EQ(sha256({"tiny", "--verify"}), right);
  EXPECT_EQ(sha256({"tiny"}), right);
}

TEST_F(InfoTest, Files) {
  const Json weights = JsonOf(Info({Weights(), "--json"}));
  EXPECT_GT(weights.Find("arrays")->AsArray("").size(), 30u);
  const float values[6] = {};
  WriteNpy(folder_ / "x.npy", TensorView(values, {2, 3}));
  EXPECT_EQ(JsonOf(Info({"x.npy", "--json"})).Find("arrays")->Dump(),
            R"([{"name":"","dtype":"f32","shape":[2,3]}])");
  NpzWriter npz(folder_ / "x.npz");
  npz.Add("a", TensorView(values, {6}));
  npz.AddStrings("words", {"it", "was"});
  npz.Commit();
  const Finished text = Info({"x.npz"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("a      f32   [6]"), HasSubstr("words  ")));
  ExpectError(Info({"none.npy"}), 1, HasSubstr("none.npy: "));
  ExpectError(Info({"x.npy", "--model", "tiny"}), 2, HasSubstr("FILE"));
  ExpectError(Info({"--verify"}), 2, HasSubstr("nothing to verify"));
}

TEST_F(InfoTest, DirectoryWithoutTokenizerIsSaid) {
  std::filesystem::remove(folder_ / "models/tiny/tokenizer.json");
  EXPECT_THAT(Info({"tiny"}).out, HasSubstr("tokenizer          none"));
}

TEST_F(InfoTest, TruncatedWeights) {
  const std::string bytes = ReadText(Weights());
  for (const size_t size : {bytes.size() - 4, bytes.size() / 2, size_t{100},
                            size_t{8}, size_t{3}, size_t{0}}) {
    WriteFile(Weights(), bytes.substr(0, size));
    ExpectBroken(HasSubstr("model.safetensors: "));
  }
}

TEST_F(InfoTest, HeaderLengthThatCannotBe) {
  const std::string bytes = ReadText(Weights());
  for (const char* length :
       {"\0\0\0\0\0\0\0\x80", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        "\0\0\xE0\x07\0\0\0\0"}) {
    WriteFile(Weights(), std::string(length, 8) + bytes.substr(8));
    ExpectBroken(AllOf(HasSubstr("model.safetensors: "), HasSubstr("header")));
  }
}

TEST_F(InfoTest, TensorsThatOverlap) {
  // The last tensor is moved onto the one before.
  std::string header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  WriteFile(Weights(), bytes + header + std::string(12, '\0'));
  ExpectBroken(HasSubstr("model.safetensors: "));
}

TEST_F(InfoTest, TypeThatTheModelCannotUse) {
  WriteTinyModel(folder_ / "models/tiny", [](NamedTensors& tensors) {
    const int8_t values[8] = {};
    tensors["encoder.layer.0.attention.self.query.bias"] =
        Tensor::CopyOf(TensorView(values, DType::kI8, {8}));
  });
  ExpectBroken(AllOf(HasSubstr("encoder.layer.0.attention.self.query.bias"),
                     AnyOf(HasSubstr("I8"), HasSubstr("i8"))));
}

TEST_F(InfoTest, ConfigThatContradictsTheTensors) {
  const std::string config = folder_ / "models/tiny/config.json";
  const std::string original = ReadText(config);
  const auto expect = [&](const char* old_text, const char* new_text,
                          const char* message) {
    ReplaceInFile(config, old_text, new_text);
    ExpectBroken(HasSubstr(message));
    WriteFile(config, original);
  };
  expect("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
         "holds no tensor encoder.layer.2.");
  expect("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
         "num_hidden_layers is 1");
  expect("\"vocab_size\": 16", "\"vocab_size\": 17", "word_embeddings");
  expect("\"num_attention_heads\": 2", "\"num_attention_heads\": 3",
         "num_attention_heads");
  expect("\"bert\"", "\"albert\"", "albert");
  expect("{", "[", "config.json: ");
}

TEST_F(InfoTest, MissingParts) {
  std::filesystem::remove(Weights());
  ExpectBroken(HasSubstr("holds neither model.safetensors nor"));
  WriteFile(folder_ / "models/tiny/model.safetensors.index.json",
            R"({"weight_map":{"a":"one.safetensors"}})");
  ExpectBroken(HasSubstr("one.safetensors"));
  std::filesystem::remove(folder_ / "models/tiny/config.json");
  ExpectBroken(HasSubstr("holds no config.json"));
}

}  // namespace
}  // namespace regard::inline v0
