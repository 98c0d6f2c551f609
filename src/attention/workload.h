// What a kernel is asked to serve: which sequences of a problem, how long they
// are, and in which order.
#ifndef REGARD_SRC_ATTENTION_WORKLOAD_H_
#define REGARD_SRC_ATTENTION_WORKLOAD_H_

#include <algorithm>
#include <cstdint>

#include "attention/problem.h"

namespace regard::inline v0 {

// Sequences whose number of queries lies in a range.
struct Workload {
  int64_t sequences = 0;
  int64_t query_length = 0;  // of the longest
  int64_t key_length = 0;    // held keys of the one that has most
  double mul_adds = 0;       // without a mask
};

// The keys of a sequence in whole blocks, without the blocks that a ring has
// lost: what kernels make room for.
struct HeldBlocks {
  HeldBlocks(const Sequence& sequence, int64_t keys_per_block);

  int64_t BlockOf(int64_t i) const { return i < lost.begin ? i : i + skipped; }
  bool IsLost(int64_t block) const {
    return lost.begin <= block && block < lost.end;
  }
  int64_t IndexOf(int64_t block) const {
    return block < lost.begin ? block : block - skipped;
  }

  IndexRange lost;  // blocks
  int64_t skipped;  // their number
  int64_t count;    // of the others
  int64_t keys;     // in them
};

// Of the problem as it is.
Workload WorkloadOf(const Problem& problem, IndexRange query_lengths);
// As large as it may become: every sequence with the most queries of the range
// that one of them has, and as many keys as storage can hold.
Workload LargestWorkloadOf(const Problem& problem, IndexRange query_lengths);

// Indices of sequences.
struct SequenceList {
  const int64_t* indices = nullptr;  // null: 0, 1, ...
  int64_t count = 0;
  int64_t operator[](int64_t i) const {
    return indices == nullptr ? i : indices[i];
  }
};

// Elements that ListSequences may need.
int64_t SequenceListSize(const Problem& problem);
// The sequences that have something to write and whose number of queries lies
// in the range, those with most work first.
SequenceList ListSequences(const Problem& problem, IndexRange query_lengths,
                           int64_t* memory);

// The entry that a task belongs to, where `first` is the number of its first
// one. Entries are in order, and entry 0 begins with task 0.
template <typename Entry>
const Entry& EntryOfTask(const Entry* entries, int64_t count, int64_t task,
                         int64_t Entry::*first) {
  const Entry* behind = std::upper_bound(
      entries, entries + count, task,
      [&](int64_t t, const Entry& entry) { return t < entry.*first; });
  return behind[-1];
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_WORKLOAD_H_
