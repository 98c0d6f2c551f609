// Continuous batching: prompts and single tokens of several texts in one call,
// their keys and values in pages of one pool. When a text ends, its pages serve
// the next one.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "regard/attention.h"
#include "regard/kv_cache.h"

namespace {

using regard::AttentionProblem;
using regard::KvCache;
using regard::Tensor;
using regard::TensorView;

constexpr int64_t kSlots = 3, kHeads = 8, kKvHeads = 2, kSize = 64;

// One text that is being written: a prompt, then token after token.
struct Text {
  int64_t prompt, tokens;
};

// What a model would compute for the tokens of a step: [1, heads, total, size].
Tensor Rows(int64_t heads, int64_t total) {
  static uint32_t state = 1;
  Tensor rows(regard::DType::kF32, {1, heads, total, kSize});
  for (int64_t i = 0; i < rows.NumElements(); ++i) {
    state = state * 1664525 + 1013904223;
    rows.AsMutable<float>()[i] = static_cast<float>(state >> 8) / (1 << 23) - 1;
  }
  return rows;
}

// Whether the rows of one text are what it gets alone.
bool SameAlone(const AttentionProblem& step, const KvCache& cache, int64_t slot,
               int64_t begin, int64_t end, const TensorView& out) {
  AttentionProblem alone = step;
  alone.query_starts = {};
  alone.q = step.q.Slice(2, begin, end);
  cache.Bind(alone, slot, 1);
  const Tensor expected = Attend(alone).out;
  const Tensor actual = Tensor::CopyOf(out.Slice(2, begin, end));
  return std::memcmp(expected.As<float>(), actual.As<float>(),
                     expected.ByteSize()) == 0;
}

void Run() {
  std::vector<Text> waiting = {{90, 3}, {7, 9}, {300, 4}, {1, 6}, {40, 5}};
  std::vector<Text> slots(kSlots, {0, 0});
  // 40 pages of 16 tokens: fewer than three texts of 400 would need.
  KvCache cache = KvCache::Paged({.sequences = kSlots,
                                  .kv_heads = kKvHeads,
                                  .key_size = kSize,
                                  .value_size = kSize},
                                 400, 40, 16);
  int steps = 0, mixed = 0;
  bool same = true;
  for (bool busy = true; busy; ++steps) {
    // 1. How many queries each slot has in this step: a prompt, a token, none.
    std::vector<int64_t> starts = {0};
    bool prompts = false, tokens = false;
    for (int64_t s = 0; s < kSlots; ++s) {
      Text& text = slots[static_cast<size_t>(s)];
      int64_t queries = text.tokens > 0 ? 1 : 0;
      tokens |= queries > 0;
      if (queries == 0 && !waiting.empty()) {
        cache.Trim(s, 0);  // the text that was here has ended
        text = waiting.back();
        waiting.pop_back();
        queries = text.prompt;
        prompts = true;
      } else if (queries > 0) {
        --text.tokens;
      }
      starts.push_back(starts.back() + queries);
    }
    busy = starts.back() > 0;
    if (!busy) break;
    mixed += prompts && tokens;

    // 2. Their keys and values into the cache, their queries through one call.
    const int64_t total = starts.back();
    const TensorView list(starts.data(), {kSlots + 1});
    const Tensor q = Rows(kHeads, total);
    cache.AppendPacked(Rows(kKvHeads, total), Rows(kKvHeads, total), list);
    AttentionProblem step;
    step.q = q;
    step.query_starts = list;
    step.mask = regard::Mask::Causal();
    step.query_offset = regard::QueryOffset::BottomRight();
    cache.Bind(step);
    const Tensor out = Attend(step).out;  // [1, heads, total, size]

    for (int64_t s = 0; s < kSlots; ++s) {
      const size_t at = static_cast<size_t>(s);
      same &= SameAlone(step, cache, s, starts[at], starts[at + 1], out);
    }
  }
  std::printf("%d steps, %d of them with prompts and tokens\n", steps, mixed);
  std::printf("each text as if it were alone, bit for bit: %s\n",
              same ? "yes" : "no");
}

}  // namespace

int main() {
  try {
    Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
