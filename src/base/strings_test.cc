#include "base/strings.h"

#include <gtest/gtest.h>

#include "regard/error.h"

namespace regard::inline v0 {
namespace {

TEST(StringsTest, ControlsCannotBreakALine) {
  EXPECT_EQ(EscapeControls("a\nb\x1b[2J\x7f"), "a\\nb\\x1b[2J\\x7f");
  EXPECT_EQ(EscapeControls("東京 é"), "東京 é");
}

TEST(StringsTest, NearestNeedsHalfOfTheWord) {
  const std::vector<std::string> known = {"map", "rank", "attend"};
  EXPECT_EQ(Nearest("rnak", known), "rank");
  EXPECT_EQ(Nearest("attnd", known), "attend");
  EXPECT_EQ(Nearest("xyz", known), "");
  // A swap is one slip, two substitutions are two.
  EXPECT_EQ(Nearest("veiw", {"vmin", "view"}), "view");
}

TEST(ErrorTest, OneLineOfThreeParts) {
  const Error error(ErrorKind::kFile, "a\nb.npy", "not found",
                    "check the path");
  EXPECT_STREQ(error.what(), "a\\nb.npy: not found: check the path");
  EXPECT_EQ(error.kind(), ErrorKind::kFile);
  EXPECT_STREQ(Error(ErrorKind::kFile, "x", "y").what(), "x: y");
}

}  // namespace
}  // namespace regard::inline v0
