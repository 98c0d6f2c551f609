#include "base/display_width.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace regard::inline v0 {
namespace {

TEST(Utf8Test, EveryScalarValueComesBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(text, c);
    size_t position = 0;
    ASSERT_EQ(NextCodePoint(text, position), c);
    ASSERT_EQ(position, text.size());
  }
}

std::u32string Decoded(std::string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) out += NextCodePoint(text, i);
  return out;
}

TEST(Utf8Test, MaximalBrokenPartsBecomeOneReplacementEach) {
  // The example of the Unicode standard, section 3.9, and its neighbours.
  EXPECT_EQ(Decoded("\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            U"\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(Decoded("\xC0\xAF"), U"\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(Decoded("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");  // surrogate
  EXPECT_EQ(Decoded("\xF4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Decoded("\xE2\x82"), U"\uFFFD");  // cut off
}

TEST(DisplayWidthTest, MarksCountNothingAndEastAsianTwo) {
  EXPECT_EQ(DisplayWidth("it"), 2);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("東京"), 4);
  EXPECT_EQ(DisplayWidth("ｱ"), 1);   // half-width kana
  EXPECT_EQ(DisplayWidth("Ａ"), 2);  // full-width Latin
  EXPECT_EQ(DisplayWidth("한"), 2);
  EXPECT_EQ(DisplayWidth("\u1112\u1161\u11AB"), 2);  // the same, in letters
  EXPECT_EQ(DisplayWidth("😀"), 2);
  EXPECT_EQ(DisplayWidth("❤"), 1);
  EXPECT_EQ(DisplayWidth("❤\uFE0F"), 2);
  EXPECT_EQ(DisplayWidth("שלום"), 4);
  EXPECT_EQ(DisplayWidth(""), 0);
}

TEST(DisplayWidthTest, VisibleTextDisarms) {
  EXPECT_EQ(VisibleText("a\x1b[2J\n\t\x7f"), "a\\x1b[2J\\n\\t\\x7f");
  EXPECT_EQ(VisibleText("\u202Eabc"), "\\u{202e}abc");
  EXPECT_EQ(VisibleText("\uFFFE\u2028\u200B"), "\\u{fffe}\\u{2028}\\u{200b}");
  EXPECT_EQ(VisibleText("\U0010FFFF"), "\\u{10ffff}");
  EXPECT_EQ(VisibleText("\x80z"), "\uFFFDz");
  EXPECT_EQ(VisibleText("👩\u200D💻 é 東"), "👩\u200D💻 é 東");
  EXPECT_EQ(VisibleText(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(VisibleText("\u0085"), "\\x85");
}

TEST(DisplayWidthTest, CutsBetweenCharactersOnly) {
  EXPECT_EQ(CutToWidth("street", 6), "street");
  EXPECT_EQ(CutToWidth("street", 5), "stre…");
  EXPECT_EQ(CutToWidth("street", 1), "…");
  EXPECT_EQ(CutToWidth("street", 0), "");
  EXPECT_EQ(CutToWidth("東京都", 4), "東…");
  EXPECT_EQ(CutToWidth("abe\u0301d", 3), "ab…");
  EXPECT_EQ(CutToWidth("e\u0301bcd", 2), "e\u0301…");
  // A joined emoji stays whole or goes.
  EXPECT_EQ(CutToWidth("👩\u200D💻abc", 4), "…");
}

TEST(DisplayWidthTest, Pads) {
  EXPECT_EQ(PadRight("東", 4), "東  ");
  EXPECT_EQ(PadLeft("7", 3), "  7");
  EXPECT_EQ(PadLeft("1234", 3), "1234");
}

TEST(DisplayWidthTest, RightToLeftTextEndsWithAMark) {
  EXPECT_EQ(WithLeftToRightEnd("##\u05DC#1"), "##\u05DC\u200E#1");
  EXPECT_EQ(WithLeftToRightEnd("\u0645 a \u0628"), "\u0645 a \u0628");
  EXPECT_EQ(WithLeftToRightEnd("\u05DC\u200E#1"), "\u05DC\u200E#1");
  EXPECT_EQ(WithLeftToRightEnd("the#1"), "the#1");
  EXPECT_EQ(WithLeftToRightEnd(""), "");
  EXPECT_EQ(DisplayWidth("\u05DC\u200E"), 1);
}

TEST(DisplayWidthTest, FlagsPairUp) {
  const std::string two_flags = "🇩🇪🇫🇷";
  EXPECT_EQ(ClusterEnd(two_flags, 0), 8u);
  EXPECT_EQ(ClusterEnd("👍🏽!", 0), 8u);
}

}  // namespace
}  // namespace regard::inline v0
