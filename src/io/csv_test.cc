#include "io/csv.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace regard {
namespace {

template <typename T>
std::string OneCell(T value) {
  CsvText csv;
  csv.Cell(value);
  return csv.text();
}

TEST(Csv, QuotesWhereNeeded) {
  EXPECT_EQ(OneCell("it"), "it");
  EXPECT_EQ(OneCell("="), "=");
  EXPECT_EQ(OneCell("+1"), "+1");
  EXPECT_EQ(OneCell(" a "), " a ");
  EXPECT_EQ(OneCell("\u00e9\U0001F600"), "\u00e9\U0001F600");
  EXPECT_EQ(OneCell(","), "\",\"");
  EXPECT_EQ(OneCell("\""), "\"\"\"\"");
  EXPECT_EQ(OneCell("a\nb"), "\"a\nb\"");
  EXPECT_EQ(OneCell("a\rb"), "\"a\rb\"");
  EXPECT_EQ(OneCell(""), "\"\"");
}

TEST(Csv, NumbersReadBackExactly) {
  EXPECT_EQ(OneCell(0.1f), "0.1");
  EXPECT_EQ(OneCell(0.1), "0.1");
  EXPECT_EQ(OneCell(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(OneCell(-12), "-12");
  EXPECT_EQ(OneCell(std::numeric_limits<int64_t>::min()),
            "-9223372036854775808");
  for (float x = 1e-38f; x < 1e38f; x *= 1.7f) {
    EXPECT_EQ(std::strtof(OneCell(x).c_str(), nullptr), x);
  }
  EXPECT_EQ(OneCell(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(OneCell(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Csv, RowsComePieceByPiece) {
  CsvText csv;
  csv.Cell("a");
  csv.Cell(1);
  csv.EndRow();
  csv.Cell(2.5f);
  EXPECT_EQ(csv.Take(), "a,1\n2.5");
  csv.Cell("b");
  csv.EndRow();
  csv.Cell("c");
  EXPECT_EQ(csv.Take(), ",b\nc");
}

}  // namespace
}  // namespace regard
