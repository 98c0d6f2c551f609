#ifndef REGARD_SRC_CLI_RANK_TEXT_H_
#define REGARD_SRC_CLI_RANK_TEXT_H_

#include <string>
#include <vector>

#include "cli/rank/data.h"

namespace regard::inline v0 {

// The table that `regard rank` prints for people.
std::string RankText(const std::vector<RankColumn>& columns,
                     const RankOptions& options, const Console& console);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_RANK_TEXT_H_
