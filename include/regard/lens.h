// What can be said about attention weights: maps, links between tokens, and
// whether they carry anything.
#ifndef REGARD_LENS_H_
#define REGARD_LENS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "regard/attention.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// A layer and a head in it, both counted from 0; printed L4H3.
struct HeadId {
  int layer = 0, head = 0;
  auto operator<=>(const HeadId&) const = default;
};

// Keeps all weights of a model run, and the norm of what each head carries from
// each key: ||f(x_j)|| with f(x) = (x W_V + b_V) W_O (Kobayashi et al. 2020).
// Batch size 1.
class AttentionMaps : public AttentionObserver {
 public:
  // `value_norms`: collect the norms too (costs a product with W_O per head).
  explicit AttentionMaps(bool value_norms = false, int threads = 0);
  void OnAttention(const AttentionCall& call) override;

  int layers() const { return static_cast<int>(weights_.size()); }
  int heads() const;
  int64_t queries() const;
  int64_t keys() const;
  // [queries, keys], f32, rows sum to 1.
  TensorView Map(HeadId head) const;
  // [keys], f32; not given unless asked for.
  TensorView ValueNorms(HeadId head) const;

 private:
  bool want_norms_;
  int threads_;
  std::vector<Tensor> weights_;  // per layer [heads, queries, keys]
  std::vector<Tensor> norms_;    // per layer [heads, keys]
};

// What one head says about "from A to B". See docs: the row of A is the mean
// over A's tokens; the columns of B are merged (summed) to one unit.
struct LinkScore {
  HeadId head;
  double weight = 0;       // A -> B
  int64_t rank = 0;        // of B in A's row, from 1; ties share the smallest
  double row_max = 0;      // strongest unit of the row
  int64_t row_argmax = 0;  // its first token
  double entropy = 0;      // nats, of the mean row
  double baseline = 0;     // mean weight to B over all other queries
  double lift = 0;         // weight / baseline
  double norm = 0;         // share of B in sum_j A_ij ||f(x_j)||, merged row
};

struct TokenRange {
  int64_t first = 0, last = 0;  // inclusive
};

// One score per head of the maps, in (layer, head) order.
std::vector<LinkScore> ScoreLinks(const AttentionMaps& maps, TokenRange from,
                                  TokenRange to);

// The mean over the given maps, [queries, keys].
Tensor AverageMap(const AttentionMaps& maps, const std::vector<HeadId>& heads);

// Blocks of rows and columns reduced to their maximum, at most
// `max_rows` x `max_columns`; `block` is the edge of a block in cells.
struct PooledMap {
  Tensor values;
  int64_t block = 1;
};
PooledMap MaxPooled(const TensorView& map, int64_t max_rows,
                    int64_t max_columns);

}  // namespace regard::inline v0

#endif  // REGARD_LENS_H_
