// Random attention problems with hostile memory.
#ifndef REGARD_TESTS_SUPPORT_ATTENTION_CASE_H_
#define REGARD_TESTS_SUPPORT_ATTENTION_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "tests/support/guarded_array.h"
#include "tests/support/random.h"

namespace regard::inline v0 {

// What is asked for; the same numbers, rounded, whatever type and layout they
// get.
struct CaseRequest {
  uint64_t seed = 0;
  DType dtype = DType::kF32;  // of q
  DType k = dtype, v = dtype;
  bool odd_layouts = false;
  // Keys that no query sees get NaN and infinities in k and v.
  bool poison_hidden = true;
};

class AttentionCase {
 public:
  explicit AttentionCase(const CaseRequest& request);

  const AttentionProblem& problem() const { return problem_; }
  const std::string& description() const { return description_; }
  bool GuardsIntact() const;
  // Of v, times what dropout multiplies weights by.
  double largest_value() const { return largest_value_; }

 private:
  // Several streams of numbers, so that what is drawn from one of them doesn't
  // change what the others give.
  struct Draws {
    explicit Draws(const CaseRequest& request)
        : odd_layouts(request.odd_layouts),
          main(request.seed),
          layouts(request.seed + 1000),
          more(request.seed + 2000),
          most(request.seed + 3000) {}
    Layout NextLayout() {
      return odd_layouts ? static_cast<Layout>(layouts.Below(kLayouts))
                         : Layout::kContiguous;
    }
    bool odd_layouts;
    Random main, layouts, more, most;
  };
  struct Sizes {
    int64_t batch, heads, kv_heads, queries, keys, depth, value_size;
    Dims full() const { return {batch, heads, queries, keys}; }
  };

  static Sizes DrawSizes(Draws& draws);
  void DrawArrays(const CaseRequest& request, Draws& draws);
  void DrawScale(Draws& draws);
  void DrawPosition(Draws& draws);
  void DrawRanges(Draws& draws);
  void DrawDocuments(Draws& draws);
  void DrawBlocks(Draws& draws);
  void DrawBits(Draws& draws);
  void DrawBoolean(Draws& draws);
  void DrawBias(Draws& draws);
  void DrawNumbersOfHeads(Draws& draws);
  void DrawDropout(uint64_t seed, Draws& draws);
  void Hide(const Mask& mask, const std::string& name);
  bool IsSeen(int64_t b, int64_t kv_head, int64_t key) const;
  void PoisonHidden();

  Sizes n_;
  AttentionProblem problem_;
  std::string description_;
  GuardedArray q_, k_, v_, bias_, mask_, layout_, bits_, slopes_, sinks_;
  std::vector<int64_t> query_ids_, key_ids_;
  double largest_value_ = 0;
};

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_ATTENTION_CASE_H_
