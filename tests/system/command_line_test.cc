// Rules that hold for every command.
#include <gtest/gtest.h>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/version.h"
#include "run_regard.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandLineTest, HelpAtEveryLevel) {
  const Finished help = RunRegard({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.err, "");
  for (const char* command : {"attend", "info", "models", "tokenize"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + command + " "));
    const Finished one = RunRegard({command, "--help"});
    EXPECT_EQ(one.status, 0) << command;
    EXPECT_THAT(one.out,
                AllOf(StartsWith(std::string("regard ") + command + ": "),
                      HasSubstr("Example:\n  regard "), HasSubstr("--json")));
  }
}

TEST(CommandLineTest, Version) {
  EXPECT_EQ(RunRegard({"--version"}).out, "regard " REGARD_VERSION "\n");
}

TEST(CommandLineTest, WrongCommandLinesExitWith2) {
  ExpectError(RunRegard({"tokenise", "x"}), 2,
              HasSubstr("did you mean tokenize?"));
  ExpectError(RunRegard({"models", "--jsno"}), 2,
              HasSubstr("did you mean --json?"));
  ExpectError(RunRegard({"tokenize"}), 2, HasSubstr("text: none was given"));
  ExpectError(RunRegard({"tokenize", "two", "words"}), 2,
              HasSubstr("'words': one argument too many"));
  ExpectError(RunRegard({"tokenize", "--file"}), 2,
              HasSubstr("--file: needs a value"));
  ExpectError(RunRegard({"--quiet"}), 2, HasSubstr("no command was given"));
}

TEST(CommandLineTest, ErrorsAreOneLineWhateverTheArgumentsHold) {
  ExpectError(RunRegard({"tokenize", "x", "--model", "a\nb/\x1b[31mc"}), 1,
              HasSubstr("a\\nb/\\x1b[31mc: no such"));
}

TEST(CommandLineTest, ErrorsAsJsonAreOnStdoutToo) {
  const Finished finished =
      RunRegard({"tokenize", "x", "--model", "no/such", "--json"});
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, StartsWith("regard: no/such: "));
  const Json json = Json::Parse(finished.out, "stdout");
  const Json* error = json.Find("error");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->Find("what")->AsString(""), "no/such");
  EXPECT_NE(error->Find("why")->AsString(""), "");
  EXPECT_NE(error->Find("hint"), nullptr);
}

TEST(CommandLineTest, MissingModelSaysHowItComes) {
  const TempDir home;
  const RunSettings settings = {.environment = {{"HOME", home.path()},
                                                {"XDG_CACHE_HOME", ""},
                                                {"REGARD_MODELS", ""}}};
  ExpectError(RunRegard({"tokenize", "x"}, settings), 1,
              AllOf(HasSubstr("model all-minilm-l6-v2: not found"),
                    HasSubstr("./dev model all-minilm-l6-v2")));
  ExpectError(
      RunRegard({"tokenize", "x", "--model", "all-minilm-16-v2"}, settings), 1,
      HasSubstr("did you mean all-minilm-l6-v2?"));
  ExpectError(RunRegard({"tokenize", "x", "--model", "./nowhere"}, settings), 1,
              HasSubstr("./nowhere: no such model directory"));
}

TEST(CommandLineTest, FullDiskOnStdout) {
  ExpectError(RunRegard({"models"}, {.stdout_path = "/dev/full"}), 1,
              HasSubstr("No space left"));
  ExpectError(RunRegard({"--help"}, {.stdout_path = "/dev/full"}), 1,
              HasSubstr("No space left"));
}

TEST(CommandLineTest, ColorIsOnlyForTerminals) {
  EXPECT_EQ(RunRegard({"models"}).out.find('\x1b'), std::string::npos);
}

TEST(ModelsTest, ListsWhatIsThereAndWhatIsNot) {
  const TempDir folder;
  const std::string other = folder / "other";
  const RunSettings settings = {
      .environment = {{"REGARD_MODELS", other + "::" + folder.path()},
                      {"XDG_CACHE_HOME", folder / "cache"}}};
  const Json before = JsonOf(RunRegard({"models", "--json"}, settings));
  const Json& model = before.Find("models")->AsArray("")[0];
  EXPECT_EQ(model.Find("name")->AsString(""), "all-minilm-l6-v2");
  EXPECT_FALSE(model.Find("present")->AsBool(""));
  EXPECT_THAT(model.Find("how")->AsString(""), HasSubstr("./dev model"));
  EXPECT_EQ(before.Find("folders")->AsArray("").size(), 3u);

  std::filesystem::create_directory(folder / "all-minilm-l6-v2");
  EXPECT_THAT(RunRegard({"models"}, {.environment = {{"HOME", ""},
                                                     {"XDG_CACHE_HOME", ""},
                                                     {"REGARD_MODELS", ""}}})
                  .out,
              HasSubstr("HOME is not set"));
  const Json after = JsonOf(RunRegard({"models", "--json"}, settings));
  EXPECT_TRUE(after.Find("models")->AsArray("")[0].Find("present")->AsBool(""));
  EXPECT_THAT(RunRegard({"models"}, settings).out,
              HasSubstr("here: " + folder.path() + "/all-minilm-l6-v2"));
}

}  // namespace
}  // namespace regard::inline v0
