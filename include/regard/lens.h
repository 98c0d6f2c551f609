// What can be said about attention weights: maps, links between tokens, and
// whether they carry anything.
//
// A_ij is the weight of query i on key j in one head; rows sum to 1 (an empty
// row to 0). Layers and heads count from 0. NaN weights are never hidden: what
// depends on one is NaN (a position that depends on one is -1, a rank 0).
#ifndef REGARD_LENS_H_
#define REGARD_LENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// A layer and a head in it, both counted from 0; printed L4H3.
struct HeadId {
  int layer = 0, head = 0;
  auto operator<=>(const HeadId&) const = default;
};
// "L4H3"
std::string ToString(HeadId head);

// Tokens [first, last], both inclusive.
struct TokenRange {
  int64_t first = 0, last = 0;
  int64_t size() const { return last - first + 1; }
  bool Contains(int64_t token) const { return first <= token && token <= last; }
};

// Keeps all weights of a model run, and the norm of what each head carries from
// each key: ||f(x_j)|| with f(x) = (x W_V + b_V) W_O of that head, the output
// bias left out (Kobayashi et al. 2020, "Attention is not only a weight",
// equation 4). A module without output projection carries its values: ||v_j||.
// Batch size 1. A call for layer 0 begins a new run.
class AttentionMaps : public AttentionObserver {
 public:
  // `value_norms`: collect the norms too (costs a product with W_O per head).
  explicit AttentionMaps(bool value_norms = false, int threads = 0);
  // Maps from elsewhere: per layer [heads, queries, keys] f32, and norms per
  // layer [heads, keys] f32, or none. Error (kArgument) when shapes differ.
  explicit AttentionMaps(std::vector<Tensor> weights,
                         std::vector<Tensor> norms = {});
  // Error (kArgument) when the batch is not 1 or the shape differs from that of
  // the layers before.
  void OnAttention(const AttentionCall& call) override;

  int layers() const { return static_cast<int>(weights_.size()); }
  int heads() const;
  int64_t queries() const;
  int64_t keys() const;
  bool has_value_norms() const { return want_norms_; }
  // Every head, in (layer, head) order.
  std::vector<HeadId> AllHeads() const;
  // [queries, keys], f32, rows sum to 1. Error (kArgument) when there is no
  // such head.
  TensorView Map(HeadId head) const;
  // [keys], f32; not given unless asked for. The same error.
  TensorView ValueNorms(HeadId head) const;

 private:
  void RequireHead(HeadId head) const;

  bool want_norms_;
  int threads_ = 0;
  std::vector<Tensor> weights_;  // per layer [heads, queries, keys]
  std::vector<Tensor> norms_;    // per layer [heads, keys]
};

// What one head says about "from A to B". The row of A is the mean over A's
// tokens. In it B's columns are merged (summed) to one unit; every other token
// is a unit of its own. weight, rank, row_max and row_argmax are of that row.
struct LinkScore {
  HeadId head;
  double weight = 0;       // of unit B
  int64_t rank = 0;        // of unit B, from 1; ties share the smallest
  double row_max = 0;      // weight of the strongest unit
  int64_t row_argmax = 0;  // first token of it (of the first one at a tie)
  double entropy = 0;      // -sum a ln a, nats, of the mean row, not merged
  double baseline = 0;     // mean weight to B over all queries outside A; NaN
                           // when there are none
  double lift = 0;         // weight / baseline; infinite or NaN when that is 0
  double norm = 0;  // sum_{j in B} a_j ||f(x_j)|| / sum_j a_j ||f(x_j)||;
                    // NaN when the maps hold no norms
};

// Error (kArgument) when a range or the head is not in the maps.
LinkScore ScoreLink(const AttentionMaps& maps, HeadId head, TokenRange from,
                    TokenRange to);
// One score per head, in (layer, head) order.
std::vector<LinkScore> ScoreLinks(const AttentionMaps& maps, TokenRange from,
                                  TokenRange to);

// The numbers of a LinkScore by name, in the order in which tables and files
// show them.
struct LinkColumn {
  const char* name;
  const char* meaning;  // one line
  double (*value)(const LinkScore&);
  bool is_index;  // a whole number, and undefined (printed as null) below
                  // `lowest_index`
  int lowest_index;
  bool sortable;  // larger means a stronger link
};
const std::vector<LinkColumn>& LinkColumns();

// One weight. `key` or `query` is -1 when there is none (everything excluded,
// or a NaN in the row), `weight` is NaN then.
struct Link {
  HeadId head;
  int64_t query = -1, key = -1;
  double weight = 0;
};

// The `count` largest weights of the heads between two different tokens that
// are both in `tokens` (true: takes part), largest first; at a tie in (head,
// query, key) order. NaN weights are left out.
std::vector<Link> StrongestLinks(const AttentionMaps& maps,
                                 const std::vector<HeadId>& heads,
                                 const std::vector<bool>& tokens, int count);
// The key among `tokens` with the largest weight in the mean row of `from`
// (the first at a tie). `query` is from.first.
Link StrongestTarget(const AttentionMaps& maps, HeadId head, TokenRange from,
                     const std::vector<bool>& tokens);
// The query among `tokens` with the largest summed weight on `to`. `key` is
// to.first.
Link StrongestSource(const AttentionMaps& maps, HeadId head, TokenRange to,
                     const std::vector<bool>& tokens);

// Mass of the keys in `tokens`, averaged over the queries that see anything:
//   weight = mean_i sum_{j in S} A_ij / sum_j A_ij
//   norm   = mean_i sum_{j in S} A_ij ||f(x_j)|| / sum_j A_ij ||f(x_j)||
// norm is NaN when the maps hold no norms.
struct KeyMass {
  double weight = 0, norm = 0;
};
// Of one head.
KeyMass MassOnKeys(const AttentionMaps& maps, HeadId head,
                   const std::vector<bool>& tokens);
// The mean over the heads; NaN for an empty list.
KeyMass MassOnKeys(const AttentionMaps& maps, const std::vector<HeadId>& heads,
                   const std::vector<bool>& tokens);

// The mean over the given maps, [queries, keys], f32. Error (kArgument) for an
// empty list.
Tensor AverageMap(const AttentionMaps& maps, const std::vector<HeadId>& heads);

// Blocks of rows and columns reduced to their maximum (NaN where the block
// holds one), at most `max_rows` x `max_columns`; `block` is the edge of a
// block in cells, the smallest that fits.
struct PooledMap {
  Tensor values;  // [ceil(queries / block), ceil(keys / block)], f32
  int64_t block = 1;
};
// `map`: [queries, keys], f32, any strides. Error (kArgument) otherwise or when
// a limit is below 1.
PooledMap MaxPooled(const TensorView& map, int64_t max_rows,
                    int64_t max_columns);

}  // namespace regard::inline v0

#endif  // REGARD_LENS_H_
