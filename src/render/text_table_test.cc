#include "render/text_table.h"

#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {

TEST(TextTableTest, AlignsByDisplayWidth) {
  EXPECT_EQ(TextTable({{"head", "to", "weight"},
                       {"L3H1", "東京", "0.71"},
                       {"L11H0", "e\u0301", "12.5"}},
                      {TextAlign::kLeft, TextAlign::kLeft, TextAlign::kRight}),
            "head   to    weight\n"
            "L3H1   東京    0.71\n"
            "L11H0  e\u0301       12.5\n");
}

TEST(TextTableTest, ShortRowsControlsAndFurtherColumns) {
  EXPECT_EQ(TextTable({{"a", "b", "c"}, {"x\n"}, {"", "22", "333"}},
                      {TextAlign::kLeft, TextAlign::kRight}, 1),
            "a    b   c\n"
            "x\\n\n"
            "    22 333\n");
  EXPECT_EQ(TextTable({}, {}), "");
  EXPECT_EQ(TextTable({{"a", "b"}}, {}), "a  b\n");
}

}  // namespace
}  // namespace regard::inline v0
