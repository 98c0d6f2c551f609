// For every layer and head, the token it looks at: one small table.
#ifndef REGARD_SRC_CLI_HEAD_TABLE_H_
#define REGARD_SRC_CLI_HEAD_TABLE_H_

#include <string>
#include <vector>

#include "regard/lens.h"

namespace regard::inline v0 {

// One row per head, one column per layer; a cell is the label of links[i].key
// and its weight in hundredths, shaded by weight with `color`. `links` may lack
// heads. More layers than fit `width` go into further blocks below.
std::string HeadTable(const std::vector<Link>& links,
                      const std::vector<std::string>& labels, int width,
                      bool color);

// The strongest link; the first one at a tie. `links` is not empty.
const Link& StrongestOf(const std::vector<Link>& links);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_HEAD_TABLE_H_
