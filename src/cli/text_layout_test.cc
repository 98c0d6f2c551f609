#include "cli/text_layout.h"

#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

TEST(WrappedTest, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(Wrapped("one two three", 80, 4), "one two three");
  EXPECT_EQ(Wrapped("one two three", 11, 4), "one two\n    three");
  // A word that is too long stands alone.
  EXPECT_EQ(Wrapped("a incomprehensible b", 8, 4),
            "a\n    incomprehensible\n    b");
  EXPECT_EQ(Wrapped("", 8, 4), "");
}

TEST(WrappedTest, CountsColumnsNotBytes) {
  EXPECT_EQ(Wrapped("éé éé", 5, 0), "éé éé");
  EXPECT_EQ(Wrapped("東京 東京", 8, 0), "東京\n東京");
}

TEST(NumberTextTest, Commas) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(-123456), "-123,456");
  EXPECT_EQ(WithCommas(22713216), "22,713,216");
}

TEST(NumberTextTest, Counts) {
  EXPECT_EQ(Counted(1, "head"), "1 head");
  EXPECT_EQ(Counted(2, "head"), "2 heads");
}

TEST(NumberTextTest, ByteSizes) {
  EXPECT_EQ(ByteSizeText(0), "0 bytes");
  EXPECT_EQ(ByteSizeText(1), "1 byte");
  EXPECT_EQ(ByteSizeText(999), "999 bytes");
  EXPECT_EQ(ByteSizeText(1000), "1.0 kB");
  EXPECT_EQ(ByteSizeText(999'960), "1.0 MB");
  EXPECT_EQ(ByteSizeText(90'868'376), "90.9 MB");
}

}  // namespace
}  // namespace regard::inline v0
