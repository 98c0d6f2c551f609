// regard rank: which heads link A to B.
#include <CLI/App.hpp>
#include <memory>

#include "cli/rank/json.h"
#include "cli/rank/text.h"

namespace regard::inline v0 {

namespace {

void Run(const RankOptions& options, Context& context) {
  CheckRankOptions(options);
  const std::vector<RankColumn> columns = RankColumns(options, context);
  if (context.common.json) {
    context.console.PrintJson(RankJson(columns, options));
  } else {
    context.console.Print(RankText(columns, options, context.console));
  }
}

std::function<void(Context&)> Setup(CLI::App& app) {
  auto options = std::make_shared<RankOptions>();
  AddRankOptions(app, *options);
  return [options](Context& context) { Run(*options, context); };
}

}  // namespace

extern const Command kRankCommand;
const Command kRankCommand = {
    "rank", "every head, ordered by the weight from one word to another",
    "regard rank \"The animal didn't cross the street because it was too "
    "tired.\" --from it --to animal",
    Setup};

}  // namespace regard::inline v0
