#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "regard/error.h"
#include "regard/version.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Parsed Parse(std::vector<std::string> arguments) {
  return ParseArguments(std::move(arguments), 80);
}

std::string Complaint(const std::vector<std::string>& arguments) {
  try {
    Parse(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  return "";
}

TEST(ParseArgumentsTest, HelpAndVersionArePages) {
  EXPECT_EQ(Parse({"--version"}).page, "regard " REGARD_VERSION "\n");
  const std::string program = Parse({"--help"}).page;
  for (const Command* command : Commands()) {
    EXPECT_THAT(program, HasSubstr(std::string("\n  ") + command->name));
    EXPECT_THAT(Parse({command->name, "--help"}).page,
                AllOf(HasSubstr("Usage: "), HasSubstr("Example:\n  regard ")));
  }
  EXPECT_EQ(Parse({}).page, program);
  EXPECT_EQ(Parse({"help", "models"}).page, Parse({"models", "-h"}).page);
}

TEST(ParseArgumentsTest, NoPageIsWiderThanTheTerminal) {
  for (const Command* command : Commands()) {
    const std::string page = ParseArguments({command->name, "-h"}, 72).page;
    size_t begin = 0;
    while (begin < page.size()) {
      const size_t end = page.find('\n', begin);
      const std::string line = page.substr(begin, end - begin);
      if (line.find(command->example) == line.npos) {
        EXPECT_LE(line.size(), 72u) << line;
      }
      begin = end + 1;
    }
  }
}

TEST(ParseArgumentsTest, CommonOptionsStandBeforeOrAfterTheCommand) {
  const CommonOptions before =
      Parse({"--json", "--threads", "2", "models"}).common;
  EXPECT_TRUE(before.json);
  EXPECT_EQ(before.threads, 2);
  const CommonOptions after =
      Parse({"models", "--quiet", "--color=always"}).common;
  EXPECT_TRUE(after.quiet);
  EXPECT_EQ(after.color, ColorMode::kAlways);
}

TEST(ParseArgumentsTest, UnknownNamesAreAnsweredWithTheNearest) {
  EXPECT_EQ(Complaint({"modles"}),
            "'modles': unknown command: did you mean models?");
  EXPECT_THAT(Complaint({"zzzzzzzzz"}), HasSubstr("the commands are "));
  EXPECT_THAT(Complaint({"models", "--foo"}), HasSubstr("lists them"));
  EXPECT_EQ(Complaint({"models", "--jsno"}),
            "--jsno: unknown option: did you mean --json?");
  EXPECT_EQ(Complaint({"--vresion"}),
            "--vresion: unknown option: did you mean --version?");
  EXPECT_THAT(Complaint({"models", "--thread=3"}),
              HasSubstr("did you mean --threads?"));
  EXPECT_THAT(Complaint({"--json"}), HasSubstr("no command was given"));
}

TEST(ParseArgumentsTest, WrongValues) {
  EXPECT_EQ(Complaint({"models", "--threads"}),
            "--threads: needs a value: regard models --help shows which");
  for (const char* text : {"0", "-1", "two", "010x", "1.5", ""}) {
    EXPECT_THAT(Complaint({"models", "--threads", text}),
                HasSubstr("is not a whole number of at least 1"))
        << text;
  }
  EXPECT_THAT(Complaint({"models", "--threads", "--json"}),
              HasSubstr("the option --json follows"));
  EXPECT_THAT(Complaint({"models", "--threads", "1", "--threads", "2"}),
              HasSubstr("given more than once"));
  EXPECT_THAT(Complaint({"models", "--color", "blue"}),
              HasSubstr("auto, always, never"));
  EXPECT_EQ(Complaint({"models", "--json=perhaps"}),
            "--json: takes no value: regard models --help may help");
  EXPECT_THAT(Complaint({"models", "what"}),
              HasSubstr("one argument too many"));
}

TEST(ParseArgumentsTest, JsonIsKnownEvenWhenTheRestIsWrong) {
  EXPECT_TRUE(AsksForJson({"map", "--wrong", "--json"}));
  EXPECT_FALSE(AsksForJson({"map", "--", "--json"}));
}

// The options of an imaginary command, as the real ones declare them.
struct Options {
  TextOptions text;
  std::vector<std::string> to;
  std::optional<int64_t> top;
  std::optional<double> scale;
  std::optional<std::string> view;
};

Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app;
  AddTextOptions(app, options.text);
  AddTexts(app, "--to", "B", options.to, "");
  AddInteger(app, "--top", "N", options.top, "", 1);
  AddReal(app, "--scale", "S", options.scale, "");
  AddChoice(app, "--view", options.view, {"heat", "arcs"}, "");
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  return options;
}

TEST(OptionsTest, RepeatedOptionsTakeOneValueEachAsItIs) {
  const Options options =
      ParseOptions({"--to", "[CLS]", "a text", "--to", "[SEP],it"});
  EXPECT_THAT(options.to, ElementsAre("[CLS]", "[SEP],it"));
  EXPECT_EQ(options.text.text, "a text");
}

TEST(OptionsTest, AnyTextIsAText) {
  for (const char* text : {"", "{}", "[]", "[a]", "models", "++", "%%", "- x",
                           "-1", "a\nb", "\"q\"", "#", "\xFF"}) {
    EXPECT_EQ(ParseOptions({text}).text.text, text);
    EXPECT_EQ(ParseOptions({"--pair", text}).text.pair, text);
  }
  EXPECT_EQ(ParseOptions({"--", "--pair"}).text.text, "--pair");
}

TEST(OptionsTest, NumbersAreDecimal) {
  EXPECT_EQ(ParseOptions({"--top", "010"}).top, 10);
  EXPECT_EQ(ParseOptions({"--scale", "-.5e1"}).scale, -5.0);
  EXPECT_EQ(ParseOptions({"--scale", "0"}).scale, 0.0);
  for (const char* text : {"nan", "inf", "0x1p3", "1,5", "", "1e999"}) {
    EXPECT_THROW(ParseOptions({"--scale", text}), Error) << text;
  }
  EXPECT_THROW(ParseOptions({"--top", "0"}), Error);
  EXPECT_THROW(ParseOptions({"--top", "99999999999999999999"}), Error);
}

TEST(OptionsTest, ChoicesNameTheNearest) {
  EXPECT_EQ(ParseOptions({"--view", "arcs"}).view, "arcs");
  try {
    ParseOptions({"--view", "haet"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--view: 'haet' is not one of heat, arcs: did you mean heat?");
  }
}

TEST(OptionsTest, AnEmptyValueStaysEmpty) {
  // "--pair=" must not swallow the text. ParseArguments splits it.
  EXPECT_THAT(Complaint({"models", "--threads=", "5"}),
              HasSubstr("'' is not a whole number"));
}

}  // namespace
}  // namespace regard::inline v0
