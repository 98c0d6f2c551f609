// Random attention problems with hostile memory, and plain evaluations of them
// that share no code with the engine.
#ifndef REGARD_TESTS_SUPPORT_ATTENTION_CASE_H_
#define REGARD_TESTS_SUPPORT_ATTENTION_CASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "regard/attention.h"

namespace regard::inline v0 {

// How an array lies in memory.
enum class Layout {
  kContiguous,
  kHeadsInside,  // [B, L, H, D] seen as [B, H, L, D]
  kEverySecond,  // innermost stride 2
  kReversed,     // negative stride along L
  kPaddedRows,   // gaps behind each row
};
inline constexpr int kLayouts = 5;

// Memory for one array of rank 4 (or less), NaN (or 0xA5) wherever the array is
// not: before, behind and in its gaps.
class GuardedArray {
 public:
  GuardedArray() = default;
  GuardedArray(DType dtype, const Dims& shape, Layout layout);

  const MutableTensorView& view() const { return view_; }
  // Sets element i (row-major) to `value`.
  void Set(int64_t i, double value);
  double Get(int64_t i) const;
  // Whether everything outside the array still is as it was made.
  bool GuardsIntact() const;

 private:
  size_t ByteOf(int64_t i) const;
  std::vector<unsigned char> memory_, untouched_;
  MutableTensorView view_;
};

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
  AttentionProblem problem_;
  std::string description_;
  GuardedArray q_, k_, v_, bias_, mask_, layout_, bits_, slopes_, sinks_;
  std::vector<int64_t> query_ids_, key_ids_;
  double largest_value_ = 0;
};

// Whether query i of head h sees key j: the words of mask.h, one key at a time.
bool Visible(const AttentionProblem& problem, int64_t b, int64_t h, int64_t i,
             int64_t j);

// Whether dropout leaves the weight: the words of attention.h.
bool IsKept(const AttentionProblem& problem, int64_t b, int64_t h, int64_t i,
            int64_t j);

// The order in which a plain evaluation adds up products. Each is as good as
// the others: how far they are from the truth is a matter of chance, which
// small problems show. From kShuffled on, each number is another permutation,
// with fused multiply-adds or without.
enum class Order : int64_t { kForward, kBackward, kFourChains, kShuffled };

// Out, LSE and weights by plain loops in T, dot products summed in pieces of
// 128 as matrix libraries do. T float or double: what a plain evaluation in
// that type gives; long double: the truth. Results are f64.
template <typename T>
AttentionResult PlainAttention(const AttentionProblem& problem,
                               Order order = Order::kForward);

// The same in bf16 or f16 as PyTorch evaluates it: matmul, scale, softmax and
// matmul one after the other, each of them in f32, what it returns rounded.
AttentionResult PlainHalfAttention(const AttentionProblem& problem, DType half,
                                   Order order = Order::kForward);

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_ATTENTION_CASE_H_
