// The statistics on links, in the order in which they are shown. A new one:
// a member of LinkScore, one line in ScoreLink, one line here.
#include "regard/lens.h"

namespace regard::inline v0 {

const std::vector<LinkColumn>& LinkColumns() {
  using S = LinkScore;
  static const std::vector<LinkColumn> columns = {
      {"weight", "weight from A to B (from a span: the mean, to it: the sum)",
       [](const S& s) { return s.weight; }, false, 0, true},
      {"rank", "place of B in the row of A, from 1",
       [](const S& s) { return static_cast<double>(s.rank); }, true, 1, false},
      {"row_max", "largest weight in the row of A",
       [](const S& s) { return s.row_max; }, false, 0, false},
      {"row_argmax", "the token that gets it",
       [](const S& s) { return static_cast<double>(s.row_argmax); }, true, 0,
       false},
      {"entropy", "spread of the row of A in nats (0: one token)",
       [](const S& s) { return s.entropy; }, false, 0, false},
      {"baseline", "mean weight to B over all other tokens",
       [](const S& s) { return s.baseline; }, false, 0, false},
      {"lift", "weight / baseline (1: B gets no more from A than from others)",
       [](const S& s) { return s.lift; }, false, 0, true},
      {"norm", "share of B in what the head carries to A (weight x |value|)",
       [](const S& s) { return s.norm; }, false, 0, true},
  };
  return columns;
}

}  // namespace regard::inline v0
