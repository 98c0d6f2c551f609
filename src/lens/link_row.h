// Rows of a map as the statistics on links see them, in double.
#ifndef REGARD_SRC_LENS_LINK_ROW_H_
#define REGARD_SRC_LENS_LINK_ROW_H_

#include <cstdint>
#include <vector>

#include "regard/lens.h"

namespace regard::inline v0 {

// Error (kArgument) naming `what` unless the range lies in [0, size) in order.
void RequireRange(TokenRange range, int64_t size, const char* what);

// The mean over the rows of `from`, [keys].
std::vector<double> MeanRow(const TensorView& map, TokenRange from);

// Weight of row i on the unit `to`: the sum over its columns.
double MassOn(const TensorView& map, int64_t query, TokenRange to);

// Mean weight to `to` over all queries outside `from`; NaN when there are none.
double Baseline(const TensorView& map, TokenRange from, TokenRange to);

// Where the unit `to` stands among the units of a row: itself, and every other
// key alone.
struct UnitStanding {
  double weight = 0;
  int64_t rank = 0;  // 1 + number of larger units; 0 when the row holds a NaN
  double row_max = 0;
  int64_t row_argmax = 0;  // first token of the first largest unit; -1: NaN
};
UnitStanding StandingOf(const std::vector<double>& row, TokenRange to);

// Share of `to` in sum_j row_j norms_j.
double CarriedShare(const std::vector<double>& row, const TensorView& norms,
                    TokenRange to);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_LENS_LINK_ROW_H_
