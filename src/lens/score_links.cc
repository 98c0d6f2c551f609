#include "lens/entropy.h"
#include "lens/link_row.h"
#include "regard/lens.h"

namespace regard::inline v0 {

LinkScore ScoreLink(const AttentionMaps& maps, HeadId head, TokenRange from,
                    TokenRange to) {
  RequireRange(from, maps.queries(), "ScoreLink: from");
  RequireRange(to, maps.keys(), "ScoreLink: to");
  const TensorView map = maps.Map(head);
  const std::vector<double> row = MeanRow(map, from);
  const UnitStanding standing = StandingOf(row, to);

  LinkScore score;
  score.head = head;
  score.weight = standing.weight;
  score.rank = standing.rank;
  score.row_max = standing.row_max;
  score.row_argmax = standing.row_argmax;
  score.entropy = Entropy(row);
  score.baseline = Baseline(map, from, to);
  score.lift = score.weight / score.baseline;
  score.norm = CarriedShare(row, maps.ValueNorms(head), to);
  return score;
}

std::vector<LinkScore> ScoreLinks(const AttentionMaps& maps, TokenRange from,
                                  TokenRange to) {
  std::vector<LinkScore> scores;
  for (const HeadId head : maps.AllHeads()) {
    scores.push_back(ScoreLink(maps, head, from, to));
  }
  return scores;
}

}  // namespace regard::inline v0
