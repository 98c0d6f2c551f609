// Which heads a command is about.
#ifndef REGARD_SRC_CLI_SELECT_HEADS_H_
#define REGARD_SRC_CLI_SELECT_HEADS_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "regard/lens.h"

namespace regard::inline v0 {

// --head L3H1,L5H11, or --layer 0-2,-1 with --head 0-3 (-1 is the last one).
// Both may be repeated.
struct HeadOptions {
  std::vector<std::string> layers = {}, heads = {};
  bool given() const { return !layers.empty() || !heads.empty(); }
};
void AddHeadOptions(CLI::App& app, HeadOptions& options);

// The chosen heads in (layer, head) order, each once; all of them when nothing
// was chosen. Error (kUsage) for a layer or head that does not exist, or when
// L3H1 forms and numbers are mixed.
std::vector<HeadId> SelectHeads(const HeadOptions& options, int layers,
                                int heads);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_SELECT_HEADS_H_
