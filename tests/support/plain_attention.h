// Plain evaluations of attention problems, which share no code with the engine.
#ifndef REGARD_TESTS_SUPPORT_PLAIN_ATTENTION_H_
#define REGARD_TESTS_SUPPORT_PLAIN_ATTENTION_H_

#include <cstdint>

#include "regard/attention.h"

namespace regard::inline v0 {

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

#endif  // REGARD_TESTS_SUPPORT_PLAIN_ATTENTION_H_
