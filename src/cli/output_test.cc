#include "cli/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regard/error.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;

TEST(ByteSizeTest, ReadsUnits) {
  EXPECT_EQ(ParseByteSize("0"), 0);
  EXPECT_EQ(ParseByteSize("4000"), 4000);
  EXPECT_EQ(ParseByteSize("256M"), 256'000'000);
  EXPECT_EQ(ParseByteSize("1.5GB"), 1'500'000'000);
  EXPECT_EQ(ParseByteSize("2k"), 2000);
  EXPECT_EQ(ParseByteSize("2K"), 2000);
  EXPECT_EQ(ParseByteSize("64MiB"), 64 * 1024 * 1024);
  EXPECT_EQ(ParseByteSize("7B"), 7);
}

TEST(ByteSizeTest, RefusesTheRest) {
  for (const char* text :
       {"", "M", "-1", "1X", "1MM", "nan", "inf", "1e3", "99999999T", "1 M"}) {
    EXPECT_EQ(ParseByteSize(text), std::nullopt) << text;
  }
}

std::string Format(OutputOptions options) {
  return OutputFormat(options, {"npz", "svg", "json"});
}

TEST(OutputFormatTest, ComesFromTheExtensionUnlessSaid) {
  EXPECT_EQ(Format({.path = "a/b.c/x.svg"}), "svg");
  EXPECT_EQ(Format({.path = "x.svg", .format = "json"}), "json");
  EXPECT_EQ(Format({.path = "-", .format = "npz"}), "npz");
}

TEST(OutputFormatTest, AsksWhenNothingTells) {
  for (const char* path : {"-", "x", "x.txt", "a.svg/x", ".svg"}) {
    try {
      Format({.path = path});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_EQ(error.hint(), "choose --format npz|svg|json");
    }
  }
}

TEST(OutputFormatTest, RefusesAnEmptyName) {
  try {
    Format({.path = "", .format = "svg"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_EQ(error.subject(), "-o");
  }
}

TEST(RequireSizeTest, NamesBothNumbers) {
  RequireSize({.max_size = 10}, 10, "ask for less");
  try {
    RequireSize({.max_size = 1000}, 2500, "choose heads with --head");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kSize);
    EXPECT_STREQ(error.what(),
                 "output: it would take 2.5 kB, above the limit of 1.0 kB: "
                 "choose heads with --head, or raise --max-size");
  }
}

}  // namespace
}  // namespace regard::inline v0
