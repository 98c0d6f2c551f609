// regard tokenize.
#include <gtest/gtest.h>

#include "io/file.h"
#include "io/temp_dir.h"
#include "run_regard.h"
#include "tiny_model.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenizeTest : public ::testing::Test {
 protected:
  TokenizeTest() { WriteTinyModel(folder_ / "models/tiny"); }

  Finished Tokenize(std::vector<std::string> arguments,
                    const std::string& input = "") const {
    arguments.insert(arguments.begin(), {"tokenize", "--model", "tiny"});
    return RunRegard(arguments,
                     {.input = input,
                      .directory = folder_.path(),
                      .environment = {{"REGARD_MODELS", folder_ / "models"}}});
  }

  TempDir folder_;
};

TEST_F(TokenizeTest, Json) {
  EXPECT_EQ(
      JsonOf(Tokenize({"The suitcase", "--json"})).Dump(),
      R"({"ids":[2,4,14,15,3],"pieces":["[CLS]","the","suit","##case","[SEP]"],)"
      R"("offsets":[[0,0],[0,3],[4,8],[8,12],[0,0]],"segments":[0,0,0,0,0],)"
      R"("special":[true,false,false,false,true]})");
}

TEST_F(TokenizeTest, PairsHaveSegmentsAndOffsetsOfTheirOwn) {
  const Json json = JsonOf(Tokenize({"it", "--pair", "was it", "--json"}));
  EXPECT_EQ(json.Find("ids")->Dump(), "[2,9,3,6,9,3]");
  EXPECT_EQ(json.Find("segments")->Dump(), "[0,0,0,1,1,1]");
  EXPECT_EQ(json.Find("offsets")->Dump(),
            "[[0,0],[0,2],[0,0],[0,3],[4,6],[0,0]]");
}

TEST_F(TokenizeTest, NeverRefusesAText) {
  for (const char* text : {"", " ", "\t\n", "\xE2\x80\x8B", "\x01"}) {
    const Json json = JsonOf(Tokenize({text, "--json"}));
    EXPECT_EQ(json.Find("ids")->Dump(), "[2,3]") << text;
  }
  // Longer than the model has positions for.
  std::string text;
  for (int i = 0; i < 100; ++i) text += "it ";
  EXPECT_EQ(JsonOf(Tokenize({text, "--json"})).Find("ids")->AsArray("").size(),
            102u);
}

TEST_F(TokenizeTest, TextsThatLookLikeSomethingElse) {
  for (const char* text : {"models", "[it]", "{it}", "++", "%it%", "- it"}) {
    EXPECT_EQ(Tokenize({text}).status, 0) << text;
  }
  EXPECT_EQ(Tokenize({"--", "--it"}).status, 0);
  ExpectError(Tokenize({"--it"}), 2, HasSubstr("--it: unknown option"));
}

TEST_F(TokenizeTest, TableInAPipeIsTabSeparated) {
  EXPECT_EQ(Tokenize({"It was"}).out,
            "token\tid\tpiece\toffsets\ttext\n"
            "0\t2\t[CLS]\t\t\n"
            "1\t9\tit\t0-2\tIt\n"
            "2\t6\twas\t3-6\twas\n"
            "3\t3\t[SEP]\t\t\n");
}

TEST_F(TokenizeTest, FilesAndStdin) {
  WriteFile(folder_ / "text.txt", "it\nwas\n");
  const std::string expected = Tokenize({"it\nwas"}).out;
  EXPECT_EQ(Tokenize({"--file", "text.txt"}).out, expected);
  EXPECT_EQ(Tokenize({"-"}, "it\nwas\n").out, expected);
  EXPECT_EQ(Tokenize({"--file", "-"}, "it\nwas").out, expected);
  ExpectError(Tokenize({"it", "--file", "text.txt"}), 2,
              HasSubstr("given twice"));
  ExpectError(Tokenize({"--file", "none.txt"}), 1, HasSubstr("none.txt: "));
}

TEST_F(TokenizeTest, OneResultPerLine) {
  const std::string text = "it\n\nwas\r\ntired";
  EXPECT_EQ(Tokenize({"--file", "-", "--lines"}, text).out,
            "2 9 3\t[CLS] it [SEP]\n2 3\t[CLS] [SEP]\n2 6 3\t[CLS] was [SEP]\n"
            "2 8 3\t[CLS] tired [SEP]\n");
  const Finished json = Tokenize({"--file", "-", "--lines", "--json"}, text);
  std::string ids;
  size_t begin = 0;
  for (size_t end; (end = json.out.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    ids += Json::Parse(json.out.substr(begin, end - begin), "line")
               .Find("ids")
               ->Dump();
  }
  EXPECT_EQ(ids, "[2,9,3][2,3][2,6,3][2,8,3]");
  EXPECT_EQ(Tokenize({"--file", "-", "--lines"}, "").out, "");
  ExpectError(Tokenize({"it", "--lines"}), 2,
              HasSubstr("--lines: there is no file"));
}

TEST_F(TokenizeTest, BrokenUtf8IsRepairedAndSaidOnce) {
  const Finished finished =
      Tokenize({"--file", "-", "--lines", "--json"}, "\xFF it\n\xE2\x82 it\n");
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.err, "regard: note: invalid UTF-8 was read as U+FFFD\n");
  // Offsets count in the repaired text, one character for each broken part.
  EXPECT_THAT(finished.out, HasSubstr("[2,4]"));
}

TEST_F(TokenizeTest, TokenizersThatCannotBeUsed) {
  const std::string tokenizer = folder_ / "models/tiny/tokenizer.json";
  ReplaceInFile(tokenizer, "\"WordPiece\", \"unk_token\"",
                "\"Unigram\", \"unk_token\"");
  ExpectError(Tokenize({"it"}), 1, HasSubstr("Unigram"));
  WriteFile(tokenizer, "{\"model\": ");
  ExpectError(Tokenize({"it"}), 1, HasSubstr("tokenizer.json: "));
  std::filesystem::remove(tokenizer);
  ExpectError(Tokenize({"it"}), 1,
              HasSubstr("models/tiny: holds no tokenizer.json"));
}

TEST_F(TokenizeTest, ModelsByPath) {
  EXPECT_EQ(
      Tokenize({"it"}).out,
      RunRegard({"tokenize", "--model", folder_ / "models/tiny", "it"}).out);
  EXPECT_EQ(Tokenize({"it"}).out,
            RunRegard({"tokenize", "--model",
                       folder_ / "models/tiny/tokenizer.json", "it"})
                .out);
}

}  // namespace
}  // namespace regard::inline v0
