// Measured rows as a table for people, printed row by row as they come.
#ifndef REGARD_SRC_CLI_BENCH_TEXT_H_
#define REGARD_SRC_CLI_BENCH_TEXT_H_

#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/row.h"
#include "cli/terminal.h"

namespace regard::inline v0 {

class BenchText {
 public:
  // All rows that will come: columns are as wide as they need.
  BenchText(const std::vector<BenchRow>& rows, const Console& console);

  // The machine, and the names of the columns.
  std::string Head() const;
  // After the name of its instruction set, where that is another than before.
  std::string Row(const BenchResult& result);
  // What the figures mean, and how many bars are met.
  std::string Foot(const std::vector<BenchResult>& results) const;

 private:
  std::string Left(const std::vector<std::string>& cells) const;

  const int width_;
  const bool color_;
  std::vector<int> columns_;  // widths
  std::string instruction_set_;
};

// "85.0 %"
std::string BenchPercent(double share);
// "1.20 × time of forward, at most 1.25"; "" where a row has no ratio.
std::string RatioText(const BenchResult& result);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_BENCH_TEXT_H_
