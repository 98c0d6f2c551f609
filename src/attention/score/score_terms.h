// What the definition does to scores between the product and the mask: the rest
// of the scale, softcap, bias, ALiBi.
#ifndef REGARD_SRC_ATTENTION_SCORE_SCORE_TERMS_H_
#define REGARD_SRC_ATTENTION_SCORE_SCORE_TERMS_H_

#include <cstdint>

#include "attention/kernels/flash_ops.h"
#include "attention/problem.h"
#include "attention/score/scale.h"

namespace regard::inline v0 {

// Whose scores are meant.
struct ScoreRow {
  int64_t sequence, head, query;
  int64_t key_length;
  int64_t position;  // of the query among the keys
};

template <typename T>
class ScoreTerms {
 public:
  ScoreTerms(const Problem& problem, const FlashOps<T>& ops);

  const ScaleParts<T>& scale() const { return scale_; }
  // Whether Apply has anything to do.
  bool any() const { return explicit_ || scale_.rest != 1; }
  // s: products of the row with `keys`, whole vectors, those behind its keys
  // too; they become scores. `memory` holds as many elements.
  void Apply(const ScoreRow& row, IndexRange keys, T* s, T* memory) const;
  // The bias of rows from `query` and keys from `key` on, when its elements lie
  // side by side.
  RowsAhead BiasAhead(int64_t sequence, int64_t head, int64_t query,
                      int64_t key) const;

 private:
  void AddBias(const ScoreRow& row, IndexRange keys, T* s, T* memory) const;
  void AddAlibi(const ScoreRow& row, IndexRange keys, T* s, T* memory) const;

  const Problem& p_;
  const FlashOps<T>& ops_;
  const bool explicit_;  // scores themselves are needed, not their differences
  const ScaleParts<T> scale_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_SCORE_TERMS_H_
