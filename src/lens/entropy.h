#ifndef REGARD_SRC_LENS_ENTROPY_H_
#define REGARD_SRC_LENS_ENTROPY_H_

#include <vector>

namespace regard::inline v0 {

// -sum a ln a in nats over the weights that are not 0 (0 ln 0 = 0). 0 for a row
// on one key, ln n for a uniform row of n.
double Entropy(const std::vector<double>& row);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_LENS_ENTROPY_H_
