#include "attention/workload.h"

#include "attention/kernels/flash_ops.h"
#include "base/checked.h"

namespace regard::inline v0 {

namespace {

// Blocks of the widest type, so of every type.
constexpr int64_t kLargestBlock = kKeysPerBlock<float>;

void Add(const Problem& p, const Sequence& s, int64_t times, Workload& work) {
  const int64_t held = HeldBlocks(s, kLargestBlock).keys;
  work.sequences += times;
  work.query_length = std::max(work.query_length, s.query_length);
  work.key_length = std::max(work.key_length, held);
  work.mul_adds +=
      static_cast<double>(times) * static_cast<double>(p.query_heads) *
      static_cast<double>(s.query_length) * static_cast<double>(held) *
      static_cast<double>(p.head_size + p.value_size);
}

bool Contains(IndexRange lengths, int64_t queries) {
  return lengths.begin <= queries && queries < lengths.end;
}

}  // namespace

HeldBlocks::HeldBlocks(const Sequence& s, int64_t keys_per_block)
    : lost{CeilDiv(s.evicted.begin, keys_per_block),
           s.evicted.end / keys_per_block},
      skipped(std::max<int64_t>(0, lost.end - lost.begin)),
      count(s.key_length / keys_per_block +
            (s.key_length % keys_per_block != 0) - skipped),
      keys(s.key_length - skipped * keys_per_block) {}

Workload WorkloadOf(const Problem& p, IndexRange query_lengths) {
  Workload work;
  if (p.uniform()) {
    if (p.sequences > 0 && Contains(query_lengths, p.query_length)) {
      Add(p, p.SequenceOf(0), p.sequences, work);
    }
    return work;
  }
  for (int64_t i = 0; i < p.sequences; ++i) {
    const Sequence sequence = p.SequenceOf(i);
    if (Contains(query_lengths, sequence.query_length)) {
      Add(p, sequence, 1, work);
    }
  }
  return work;
}

Workload LargestWorkloadOf(const Problem& p, IndexRange query_lengths) {
  Workload work;
  Sequence longest = {};
  longest.query_length = std::min(p.query_length, query_lengths.end - 1);
  longest.key_length = p.key_capacity;
  if (p.sequences > 0 && Contains(query_lengths, longest.query_length)) {
    Add(p, longest, p.sequences, work);
  }
  return work;
}

int64_t SequenceListSize(const Problem& p) {
  return p.uniform() ? 0 : p.sequences;
}

SequenceList ListSequences(const Problem& p, IndexRange query_lengths,
                           int64_t* memory) {
  if (p.query_heads == 0) return {};
  if (p.uniform()) {
    const bool there =
        p.query_length > 0 && Contains(query_lengths, p.query_length);
    return {nullptr, there ? p.sequences : 0};
  }
  int64_t count = 0;
  for (int64_t i = 0; i < p.sequences; ++i) {
    const int64_t queries = p.SequenceOf(i).query_length;
    if (queries > 0 && Contains(query_lengths, queries)) memory[count++] = i;
  }
  const auto work = [&](int64_t i) {
    const Sequence s = p.SequenceOf(i);
    return static_cast<double>(s.query_length) *
           static_cast<double>(s.key_length);
  };
  std::sort(memory, memory + count, [&](int64_t a, int64_t b) {
    const double work_a = work(a), work_b = work(b);
    return work_a != work_b ? work_a > work_b : a < b;
  });
  return {memory, count};
}

}  // namespace regard::inline v0
