#ifndef REGARD_SRC_CLI_RANK_JSON_H_
#define REGARD_SRC_CLI_RANK_JSON_H_

#include <vector>

#include "cli/rank/data.h"
#include "io/json.h"

namespace regard::inline v0 {

// One column: {"tokens", "from", "to", "heads": [...], "nonfinite"}, heads in
// the order of --sort, the first --top. Several: {"columns": [{"text",
// "tokens", "from", "to", "heads"}, ...], "difference": [...], "nonfinite"},
// heads of a column in (layer, head) order; --top cuts the difference.
//
// A number that is not finite is null, and `nonfinite` counts those.
Json RankJson(const std::vector<RankColumn>& columns,
              const RankOptions& options);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_RANK_JSON_H_
