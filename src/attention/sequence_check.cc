#include "attention/sequence_check.h"

#include <algorithm>
#include <string>

#include "attention/kernels/flash_ops.h"
#include "base/checked.h"

namespace regard::inline v0 {

namespace {

std::string Number(int64_t n) { return std::to_string(n); }

// i32 or i64, of this rank, in memory.
void List(const ArrayChecker& check, const TensorView& list, const char* name,
          int rank, const char* letters) {
  if (list.dtype != DType::kI32 && list.dtype != DType::kI64) {
    check.Fail(name, std::string("type ") + Name(list.dtype), "use i32 or i64");
  }
  if (list.rank() != rank) {
    check.Fail(name, "shape " + ToString(list.shape) + " is not " + letters);
  }
  check.Memory(list, name);
}

void Packed(const ArrayChecker& check, const TensorView& view, const char* name,
            const char* letters) {
  if (view.shape[0] == 1) return;
  check.Fail(name,
             "shape " + ToString(view.shape) +
                 " is a batch, but its sequences are packed",
             std::string("give ") + letters);
}

// Keys that the storage of one sequence holds at a time.
int64_t SlotsOf(const Problem& p) {
  const int64_t rows = p.k.shape[2];
  return p.block_table.given()
             ? CheckedMul(p.block_table.shape[1], rows, "block_table")
             : rows;
}

void Ring(const ArrayChecker& check, const KeyRing& ring, Problem& p) {
  if (ring.first_keys < 0 || ring.period < 1) {
    check.Fail("ring",
               Number(ring.first_keys) + " first keys and a period of " +
                   Number(ring.period),
               "give 0 or more first keys and a period of 1 or more");
  }
  const int64_t slots = SlotsOf(p);
  if (ring.first_keys > slots || ring.period > slots - ring.first_keys) {
    check.Fail("ring", Number(ring.first_keys) +
                           " first keys and a period of " +
                           Number(ring.period) + " do not fit the " +
                           Number(slots) + " keys that there is room for");
  }
  if (ring.oldest.given()) {
    List(check, ring.oldest, "ring.oldest", 1, "[S]");
    check.Shape(ring.oldest, "ring.oldest", {p.sequences}, "[S]");
  }
  p.ring_oldest = ring.oldest;
  p.ring_pinned = ring.first_keys;
  p.ring_period = ring.period;
}

// Returns the longest.
int64_t Lengths(const ArrayChecker& check, const Problem& p) {
  int64_t longest = 0;
  for (int64_t i = 0; i < p.sequences; ++i) {
    int64_t room = p.key_capacity;
    if (p.key_starts.given()) {
      room = ListItem(p.key_starts, i + 1) - ListItem(p.key_starts, i);
    }
    if (p.ring_period > 0) room = kMaxOffset;
    const int64_t length = ListItem(p.key_lengths, i);
    if (length < 0 || length > room) {
      check.Fail("key_lengths", Number(length) + " of sequence " + Number(i) +
                                    " is not within 0 and the " + Number(room) +
                                    " keys that there is room for");
    }
    longest = std::max(longest, length);
  }
  return longest;
}

// Every page that holds keys exists.
void Pages(const ArrayChecker& check, const Problem& p) {
  const int64_t page_rows = p.k.shape[2], pages = p.k.shape[0];
  for (int64_t i = 0; i < p.sequences; ++i) {
    int64_t slots = ListItem(p.key_lengths, i);
    if (p.ring_period > 0) {
      slots = std::min(slots, p.ring_pinned + p.ring_period);
    }
    for (int64_t j = 0; slots > 0; ++j, slots -= page_rows) {
      const int64_t page = ListItem(p.block_table.Select(0, i), j);
      if (page >= 0 && page < pages) continue;
      check.Fail("block_table", "page " + Number(page) + " at [" + Number(i) +
                                    ", " + Number(j) + "] is not one of the " +
                                    Number(pages) + " pages of k");
    }
  }
}

// The number of sequences, and where their queries lie.
void CheckQueries(const ArrayChecker& check, Problem& p) {
  p.sequences = p.q.shape[0];
  p.query_length = p.q.shape[2];
  if (!p.query_starts.given()) return;
  List(check, p.query_starts, "query_starts", 1, "[S + 1]");
  Packed(check, p.q, "q", "[1, Hq, total queries, D]");
  p.sequences = std::max<int64_t>(0, p.query_starts.shape[0] - 1);
  p.query_length = CheckStarts(check, p.query_starts, "query_starts",
                               p.sequences, p.q.shape[2], "axis 2 of q");
}

void CheckPackedKeys(const ArrayChecker& check, Problem& p) {
  if (p.block_table.given() || p.ring_period > 0) {
    check.Fail("key_starts", "given beside a block table or a ring",
               "give one of them: it says where keys lie");
  }
  Packed(check, p.k, "k", "[1, Hkv, total keys, D]");
  p.key_capacity = p.key_length =
      CheckStarts(check, p.key_starts, "key_starts", p.sequences, p.k.shape[2],
                  "axis 2 of k");
}

void CheckTable(const ArrayChecker& check, const Problem& p) {
  List(check, p.block_table, "block_table", 2, "[S, n]");
  check.Shape(p.block_table, "block_table",
              {p.sequences, p.block_table.shape[1]}, "[S, n]");
}

}  // namespace

int64_t CheckStarts(const ArrayChecker& check, const TensorView& starts,
                    const char* name, int64_t sequences, int64_t total,
                    const char* axis) {
  List(check, starts, name, 1, "[S + 1]");
  if (starts.shape[0] != sequences + 1) {
    check.Fail(name, "shape " + ToString(starts.shape) + " is not [S + 1] = [" +
                         Number(sequences + 1) + "]");
  }
  if (ListItem(starts, 0) != 0) {
    check.Fail(name, "begins with " + Number(ListItem(starts, 0)) + ", not 0");
  }
  int64_t longest = 0;
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t begin = ListItem(starts, i), end = ListItem(starts, i + 1);
    if (end < begin) {
      check.Fail(name,
                 Number(end) + " of entry " + Number(i + 1) + " comes after " +
                     Number(begin),
                 "give cumulative lengths, in order");
    }
    longest = std::max(longest, end - begin);
  }
  const int64_t last = ListItem(starts, sequences);
  if (last != total) {
    check.Fail(name, "ends with " + Number(last) + ", but " + axis + " is " +
                         Number(total) + " long");
  }
  return longest;
}

void CheckSequences(const ArrayChecker& check, const AttentionProblem& inputs,
                    Problem& p) {
  CheckQueries(check, p);
  if (p.block_table.given()) CheckTable(check, p);
  p.key_length = p.key_capacity = SlotsOf(p);
  const bool room_only = p.block_table.given() || inputs.ring.has_value();
  if (room_only && !p.key_lengths.given()) {
    check.Fail("key_lengths",
               "not given, but how many keys there are does not follow from a "
               "block table or a ring");
  }
  if (inputs.ring) Ring(check, *inputs.ring, p);
  if (p.key_starts.given()) CheckPackedKeys(check, p);
  if (!p.key_lengths.given()) return;
  List(check, p.key_lengths, "key_lengths", 1, "[S]");
  check.Shape(p.key_lengths, "key_lengths", {p.sequences}, "[S]");
  p.key_length = Lengths(check, p);
  if (p.block_table.given()) Pages(check, p);
  // What a ring has lost lies between whole blocks.
  if (p.ring_period > 0) {
    p.key_capacity = CheckedAdd(p.ring_pinned + p.ring_period,
                                2 * kKeysPerBlock<float>, "ring");
  }
}

void CheckRing(const ArrayChecker& check, const Problem& p) {
  for (int64_t i = 0; p.ring_period > 0 && i < p.sequences; ++i) {
    const Sequence s = p.SequenceOf(i);
    if (s.evicted.empty() || s.query_length == 0) continue;
    for (int64_t h = 0; h < p.query_heads; ++h) {
      const IndexRange seen =
          p.MaskOf(s, h).Range({0, s.query_length}, s.evicted);
      if (seen.empty()) continue;
      check.Fail("mask",
                 "may show key " + Number(seen.begin) + " of sequence " +
                     Number(i) + ", but of its " + Number(s.key_length) +
                     " keys the ring holds the first " + Number(p.ring_pinned) +
                     " and the last " + Number(s.key_length - s.evicted.end) +
                     " only",
                 "intersect with a Window that is no wider than the period "
                 "less the queries of a call but one; Range of a mask of your "
                 "own has to leave these keys out");
    }
  }
}

}  // namespace regard::inline v0
