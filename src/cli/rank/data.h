// The numbers that `regard rank` prints.
#ifndef REGARD_SRC_CLI_RANK_DATA_H_
#define REGARD_SRC_CLI_RANK_DATA_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/rank/options.h"
#include "cli/text_run.h"
#include "regard/lens.h"

namespace regard::inline v0 {

struct RankedText {
  Encoding encoding;
  std::vector<std::string> labels;
};

// What one head says. When only one end was asked for, the other one is the
// strongest of this head: `found` over all tokens, `word` over those of the
// text itself.
struct RankRow {
  LinkScore score;
  std::optional<TokenSpan> found;
  Link word;
};

// One text and one pair of ends.
struct RankColumn {
  std::shared_ptr<const RankedText> text;
  std::optional<TokenSpan> from, to;  // as asked for
  std::vector<RankRow> rows;          // in (layer, head) order
};

// One column per text and --to, texts in the outer loop.
std::vector<RankColumn> RankColumns(const RankOptions& options,
                                    Context& context);

// Indexes of the rows by falling `--sort`, then layer, then head; NaN last.
std::vector<size_t> RankOrder(const std::vector<RankRow>& rows,
                              const std::string& sort);

// Weight of the first column minus that of the second for each row, and the
// order by falling size of the difference.
struct RankDifference {
  std::vector<double> weight;
  std::vector<size_t> order;
};
RankDifference DifferenceOf(const RankColumn& a, const RankColumn& b);

// The number of rows to print: all, or the first `top`.
size_t RowsToShow(size_t rows, std::optional<int64_t> top);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_RANK_DATA_H_
