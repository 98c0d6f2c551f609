// What `regard rank` was asked for.
#ifndef REGARD_SRC_CLI_RANK_OPTIONS_H_
#define REGARD_SRC_CLI_RANK_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/select_heads.h"

namespace regard::inline v0 {

struct RankOptions {
  std::optional<std::string> text, pair, model, from, sort;
  std::vector<std::string> more_texts, to;
  bool truncate = false;
  HeadOptions heads;
  std::optional<int64_t> top;

  // Comes later: cases of a table.
  std::optional<std::string> file;

  // TEXT and every --text, in this order.
  std::vector<std::string> Texts() const;
};

void AddRankOptions(CLI::App& app, RankOptions& options);

// Error (kUsage) for options that are missing, contradict each other, or come
// later.
void CheckRankOptions(const RankOptions& options);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_RANK_OPTIONS_H_
