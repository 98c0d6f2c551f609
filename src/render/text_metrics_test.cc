#include "render/text_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TextMetricsTest, WidthsOfScripts) {
  EXPECT_NEAR(EstimatedWidth("it", 10), 2.8 + 3.9, 1e-9);
  EXPECT_NEAR(EstimatedWidth("東京", 10), 20, 1e-9);
  EXPECT_EQ(EstimatedWidth("", 10), 0);
  // Marks and joined parts take no room of their own.
  EXPECT_EQ(EstimatedWidth("e\u0301", 10), EstimatedWidth("e", 10));
  EXPECT_EQ(EstimatedWidth("👩\u200D💻", 10), EstimatedWidth("👩", 10));
}

TEST(TextMetricsTest, CutTextFitsAndKeepsCharactersWhole) {
  EXPECT_EQ(CutToPoints("animal", 9, 100), "animal");
  for (const char* text : {"Donaudampfschifffahrt", "東京タワーです",
                           "e\u0301e\u0301e\u0301e\u0301e\u0301"}) {
    const std::string cut = CutToPoints(text, 10, 28);
    EXPECT_TRUE(cut.ends_with("…")) << cut;
    EXPECT_LE(EstimatedWidth(cut, 10), 28) << cut;
  }
  EXPECT_EQ(CutToPoints("👩\u200D💻👩\u200D💻", 10, 24), "👩\u200D💻…");
}

TEST(TextMetricsTest, WrapsAtSpacesAndInsideLongWordsOnly) {
  const auto count = [](std::string_view text) {
    return static_cast<double>(text.size());
  };
  EXPECT_THAT(WrappedLines("one two three", 7, count),
              ElementsAre("one two", "three"));
  EXPECT_THAT(WrappedLines("abcdefgh ij", 5, count),
              ElementsAre("abcde", "fgh", "ij"));
  EXPECT_THAT(WrappedLines("a b\nc", 9, count), ElementsAre("a b", "c"));
  EXPECT_THAT(WrappedLines("", 9, count), IsEmpty());
  // No progress is possible: the character stands alone.
  EXPECT_THAT(WrappedLines("abc", 0.5, count), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace regard::inline v0
