#ifndef REGARD_SRC_CLI_MAP_LATER_H_
#define REGARD_SRC_CLI_MAP_LATER_H_

#include <string>
#include <vector>

#include "cli/map/options.h"

namespace regard::inline v0 {

// The one place for parts of `regard map` that are named in the documentation
// and do not exist yet: each is refused by name. Error (kUsage).
void RefuseLaterMapOptions(const MapOptions& options);

// Formats that are known by name and refused alike.
const std::vector<std::string>& LaterMapFormats();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MAP_LATER_H_
