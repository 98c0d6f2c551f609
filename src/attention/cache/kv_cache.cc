#include "regard/kv_cache.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "attention/array_check.h"
#include "attention/cache/page_pool.h"
#include "attention/cache/stored_rows.h"
#include "attention/overlap.h"
#include "attention/problem.h"
#include "attention/rows.h"
#include "attention/sequence_check.h"
#include "base/checked.h"
#include "base/parallel_for.h"

namespace regard::inline v0 {

namespace {

// Bytes that are copied faster by one thread than others wake up.
constexpr int64_t kSerialBytes = int64_t{1} << 20;

std::string Number(int64_t n) { return std::to_string(n); }

// The rows of a sequence among what is appended.
struct Part {
  int64_t batch, first, count;
};

// What is appended: to one sequence, to each its part of packed rows, or to all
// of them alike.
struct Appended {
  const TensorView& k;
  const TensorView& v;
  int64_t only = -1;
  TensorView starts;

  Part Of(int64_t sequence) const {
    const int64_t rows = k.shape[2];
    if (only >= 0) return {0, 0, sequence == only ? rows : 0};
    if (!starts.given()) return {sequence, 0, rows};
    const int64_t first = ListItem(starts, sequence);
    return {0, first, ListItem(starts, sequence + 1) - first};
  }
};

}  // namespace

struct KvCache::State {
  KvCacheSizes sizes;
  int64_t capacity = 0;
  int64_t window = 0;     // of a ring
  int64_t page_rows = 0;  // 0: no pages
  KeyRing ring;
  StoredRows k, v;
  std::vector<int64_t> lengths, oldest;
  PagePool pool;
  std::vector<bool> leaving;  // sequences, while pages are counted

  State(const char* function, const KvCacheSizes& sizes, int64_t batch,
        int64_t rows, bool heads_outside);

  // Of one sequence and head.
  Rows RowsIn(const StoredRows& array, int64_t sequence, int64_t head) const;
  // Where something is not an array of rows like those of the cache.
  void CheckRows(const ArrayChecker& check, const TensorView& rows,
                 const char* name, int64_t batch, int64_t count,
                 int64_t size) const;
  void CheckSequence(const ArrayChecker& check, int64_t sequence,
                     const char* name) const;
  void CheckRoom(const ArrayChecker& check, const Appended& rows);
  // Free pages that appending takes.
  int64_t PagesFor(const Appended& rows);

  void Append(const std::string& function, const Appended& rows);
  void TakePages(int64_t sequence, int64_t count);
  void Write(int64_t sequence, int64_t head, const Appended& rows);
  void CopyKeys(int64_t from, int64_t to, int64_t begin, int64_t end);
};

KvCache::State::State(const char* function, const KvCacheSizes& wanted,
                      int64_t batch, int64_t rows, bool heads_outside)
    : sizes(wanted) {
  const std::string name = function;
  const ArrayChecker check(name);
  const std::pair<const char*, int64_t> numbers[] = {
      {"sequences", sizes.sequences},
      {"kv_heads", sizes.kv_heads},
      {"key_size", sizes.key_size},
      {"value_size", sizes.value_size}};
  for (const auto& [field, number] : numbers) {
    if (number < 0) check.Fail(field, Number(number) + " is negative");
  }
  switch (sizes.dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
    case DType::kI8:
      break;
    default:
      check.Fail("dtype",
                 std::string("type ") + Name(sizes.dtype) + " is not supported",
                 "use f32, bf16, f16, f64 or i8", ErrorKind::kUnsupported);
  }
  lengths.assign(static_cast<size_t>(sizes.sequences), 0);
  oldest.assign(static_cast<size_t>(sizes.sequences), 0);
  leaving.assign(static_cast<size_t>(sizes.sequences), false);
  const auto make = [&](int64_t size) {
    return StoredRows(sizes.dtype, {batch, sizes.kv_heads, rows, size},
                      heads_outside);
  };
  k = make(sizes.key_size);
  v = make(sizes.value_size);
}

// ---------------------------------------------------------------- making

namespace {

void RequireNumber(const char* function, const char* name, int64_t number,
                   int64_t least) {
  if (number >= least) return;
  const std::string text = function;
  ArrayChecker(text).Fail(name,
                          Number(number) + " is less than " + Number(least));
}

}  // namespace

KvCache KvCache::Contiguous(const KvCacheSizes& sizes, int64_t capacity) {
  constexpr const char* kFunction = "KvCache::Contiguous";
  RequireNumber(kFunction, "capacity", capacity, 0);
  auto state = std::make_unique<State>(kFunction, sizes, sizes.sequences,
                                       capacity, false);
  state->capacity = capacity;
  return KvCache(std::move(state));
}

KvCache KvCache::Ring(const KvCacheSizes& sizes, int64_t window,
                      int64_t first_keys, int64_t longest_append) {
  constexpr const char* kFunction = "KvCache::Ring";
  RequireNumber(kFunction, "window", window, 1);
  RequireNumber(kFunction, "first_keys", first_keys, 0);
  RequireNumber(kFunction, "longest_append", longest_append, 1);
  const int64_t period =
      CheckedAdd(window, longest_append - 1, "KvCache::Ring: window");
  const int64_t slots =
      CheckedAdd(first_keys, period, "KvCache::Ring: first_keys");
  auto state =
      std::make_unique<State>(kFunction, sizes, sizes.sequences, slots, false);
  state->capacity = slots;
  state->window = window;
  state->ring.first_keys = first_keys;
  state->ring.period = period;
  state->ring.oldest = TensorView(state->oldest.data(), {sizes.sequences});
  return KvCache(std::move(state));
}

KvCache KvCache::Paged(const KvCacheSizes& sizes, int64_t capacity,
                       int64_t pages, int64_t page_rows) {
  constexpr const char* kFunction = "KvCache::Paged";
  RequireNumber(kFunction, "capacity", capacity, 0);
  RequireNumber(kFunction, "pages", pages, 0);
  RequireNumber(kFunction, "page_rows", page_rows, 1);
  auto state =
      std::make_unique<State>(kFunction, sizes, pages, page_rows, true);
  state->capacity = capacity;
  state->page_rows = page_rows;
  state->pool =
      PagePool(sizes.sequences,
               capacity / page_rows + (capacity % page_rows != 0), pages);
  return KvCache(std::move(state));
}

KvCache::KvCache(std::unique_ptr<State> state) : state_(std::move(state)) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

// ---------------------------------------------------------------- memory

Rows KvCache::State::RowsIn(const StoredRows& array, int64_t sequence,
                            int64_t head) const {
  Rows rows =
      RowsOf(array.rows, page_rows > 0 ? 0 : sequence, head, 0, array.scales);
  rows.pinned = ring.first_keys;
  rows.period = ring.period;
  if (page_rows == 0) return rows;
  const TensorView table = pool.table();
  rows.table = static_cast<const std::byte*>(table.data) +
               sequence * table.strides[0] * int64_t{sizeof(int64_t)};
  rows.wide_table = true;
  rows.table_stride = 1;
  rows.page_stride = array.rows.strides[0];
  rows.page_rows = page_rows;
  return rows;
}

void KvCache::State::Write(int64_t sequence, int64_t head,
                           const Appended& appended) {
  const Part part = appended.Of(sequence);
  const int64_t length = lengths[static_cast<size_t>(sequence)];
  const auto write = [&](const StoredRows& array, const TensorView& from) {
    const Rows to = RowsIn(array, sequence, head);
    const Rows rows = RowsOf(from, part.batch, head, part.first);
    for (int64_t i = 0; i < part.count; ++i) {
      const int64_t key = length + i;
      const bool kept = ring.period == 0 || key < ring.first_keys ||
                        i >= part.count - ring.period;
      if (!kept) continue;  // overwritten by a later one
      StoreRow(rows, i, to, key, array.rows.shape[3]);
    }
  };
  write(k, appended.k);
  write(v, appended.v);
}

// The keys [begin, end) of one sequence become those of another, whose memory
// is its own.
void KvCache::State::CopyKeys(int64_t from, int64_t to, int64_t begin,
                              int64_t end) {
  for (const StoredRows* array : {&k, &v}) {
    for (int64_t head = 0; head < sizes.kv_heads; ++head) {
      const Rows source = RowsIn(*array, from, head);
      const Rows target = RowsIn(*array, to, head);
      for (int64_t key = begin; key < end; ++key) {
        StoreRow(source, key, target, key, array->rows.shape[3]);
      }
    }
  }
}

// ---------------------------------------------------------------- append

void KvCache::State::CheckSequence(const ArrayChecker& check, int64_t sequence,
                                   const char* name) const {
  if (sequence >= 0 && sequence < sizes.sequences) return;
  check.Fail(name, Number(sequence) + " is not one of the " +
                       Number(sizes.sequences) + " sequences");
}

void KvCache::State::CheckRows(const ArrayChecker& check,
                               const TensorView& rows, const char* name,
                               int64_t batch, int64_t count,
                               int64_t size) const {
  check.Shape(rows, name, {batch, sizes.kv_heads, count, size},
              "[B, Hkv, n, D or Dv]");
  switch (rows.dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      break;
    default:
      check.Fail(
          name,
          std::string("type ") + Name(rows.dtype) + " is not a floating type",
          "convert it to f64, f32, bf16 or f16", ErrorKind::kUnsupported);
  }
  check.Memory(rows, name);
  for (const TensorView* view : {&k.rows, &k.scales, &v.rows, &v.scales}) {
    if (view->given() && MayOverlap(rows, *view)) {
      check.Fail(name, "shares memory with the cache");
    }
  }
}

int64_t KvCache::State::PagesFor(const Appended& rows) {
  int64_t needed = 0;
  for (int64_t s = 0; s < sizes.sequences; ++s) {
    const int64_t length = lengths[static_cast<size_t>(s)];
    const int64_t count = rows.Of(s).count;
    needed += CeilDiv(length + count, page_rows) - CeilDiv(length, page_rows);
    // Of those who share a page and write to it, the last keeps it if nobody
    // else has it.
    const int64_t last = length / page_rows;
    const bool leaves =
        count > 0 && length % page_rows != 0 && pool.IsShared(s, last);
    leaving[static_cast<size_t>(s)] = leaves;
    if (!leaves) continue;
    pool.Discount(s, last);
    ++needed;
  }
  for (int64_t s = 0; s < sizes.sequences; ++s) {
    if (!leaving[static_cast<size_t>(s)]) continue;
    pool.Recount(s, lengths[static_cast<size_t>(s)] / page_rows);
  }
  return needed;
}

void KvCache::State::CheckRoom(const ArrayChecker& check,
                               const Appended& rows) {
  for (int64_t s = 0; s < sizes.sequences; ++s) {
    const int64_t length = lengths[static_cast<size_t>(s)];
    const int64_t most = ring.period > 0 ? kMaxOffset : capacity;
    if (rows.Of(s).count <= most - length) continue;
    check.Fail("k", Number(rows.Of(s).count) + " keys behind the " +
                        Number(length) + " of sequence " + Number(s) +
                        " are more than its capacity of " + Number(most));
  }
  if (page_rows == 0) return;
  const int64_t needed = PagesFor(rows);
  if (needed <= pool.free()) return;
  check.Fail("k",
             Number(needed) + " pages are needed, " + Number(pool.free()) +
                 " of " + Number(pool.pages()) + " are free",
             "trim sequences that have ended, or make a cache of more pages");
}

// Pages for `count` keys more, the first of them alone on its page.
void KvCache::State::TakePages(int64_t sequence, int64_t count) {
  const int64_t length = lengths[static_cast<size_t>(sequence)];
  const int64_t last = length / page_rows, used = length % page_rows;
  if (count > 0 && used != 0 && pool.IsShared(sequence, last)) {
    const int64_t shared = pool.At(sequence, last);
    pool.Leave(sequence, last);
    pool.Take(sequence, last);
    for (StoredRows* array : {&k, &v}) {
      array->CopyPage(shared, pool.At(sequence, last), used);
    }
  }
  for (int64_t i = CeilDiv(length, page_rows);
       i < CeilDiv(length + count, page_rows); ++i) {
    pool.Take(sequence, i);
  }
}

void KvCache::State::Append(const std::string& function, const Appended& rows) {
  const ArrayChecker check(function);
  const int64_t batch =
      rows.only < 0 && !rows.starts.given() ? sizes.sequences : int64_t{1};
  const int64_t count = rows.k.rank() == 4 ? rows.k.shape[2] : 0;
  CheckRows(check, rows.k, "k", batch, count, sizes.key_size);
  CheckRows(check, rows.v, "v", batch, count, sizes.value_size);
  if (rows.starts.given()) {
    CheckStarts(check, rows.starts, "starts", sizes.sequences, count,
                "axis 2 of k");
  }
  CheckRoom(check, rows);

  for (int64_t s = 0; page_rows > 0 && s < sizes.sequences; ++s) {
    TakePages(s, rows.Of(s).count);
  }
  const int64_t tasks = sizes.sequences * sizes.kv_heads;
  const auto write = [&](int64_t task, int) {
    Write(task / sizes.kv_heads, task % sizes.kv_heads, rows);
  };
  const int64_t bytes = (rows.k.NumElements() + rows.v.NumElements()) *
                        static_cast<int64_t>(ItemSize(sizes.dtype));
  ParallelFor(tasks, bytes > kSerialBytes ? 0 : 1, std::cref(write));
  for (int64_t s = 0; s < sizes.sequences; ++s) {
    int64_t& length = lengths[static_cast<size_t>(s)];
    length += rows.Of(s).count;
    if (ring.period == 0 || length - ring.period <= ring.first_keys) continue;
    int64_t& first = oldest[static_cast<size_t>(s)];
    first = std::max(first, length - ring.period);
  }
}

void KvCache::Append(const TensorView& k, const TensorView& v) {
  static const std::string kFunction = "KvCache::Append";
  state_->Append(kFunction, {k, v, -1, {}});
}

void KvCache::AppendPacked(const TensorView& k, const TensorView& v,
                           const TensorView& starts) {
  static const std::string kFunction = "KvCache::AppendPacked";
  if (!starts.given()) ArrayChecker(kFunction).Fail("starts", "not given");
  state_->Append(kFunction, {k, v, -1, starts});
}

void KvCache::AppendTo(int64_t sequence, const TensorView& k,
                       const TensorView& v) {
  static const std::string kFunction = "KvCache::AppendTo";
  state_->CheckSequence(ArrayChecker(kFunction), sequence, "sequence");
  state_->Append(kFunction, {k, v, sequence, {}});
}

// ---------------------------------------------------------------- the rest

void KvCache::Trim(int64_t sequence, int64_t length) {
  static const std::string kFunction = "KvCache::Trim";
  const ArrayChecker check(kFunction);
  State& s = *state_;
  s.CheckSequence(check, sequence, "sequence");
  int64_t& now = s.lengths[static_cast<size_t>(sequence)];
  if (length < 0 || length > now) {
    check.Fail("length", Number(length) + " is not within 0 and the " +
                             Number(now) + " keys of sequence " +
                             Number(sequence));
  }
  int64_t& oldest = s.oldest[static_cast<size_t>(sequence)];
  // What the next query sees of the keys that are left.
  const int64_t first = std::max(s.ring.first_keys, length - s.window + 1);
  if (first < std::min(oldest, length)) {
    check.Fail("length",
               Number(length) +
                   " keys: the window of the next query needs "
                   "key " +
                   Number(first) + ", but the ring holds keys from " +
                   Number(oldest) + " on",
               "trim less, or make a ring for a longer append");
  }
  oldest = length <= s.ring.first_keys ? 0 : std::min(oldest, length);
  if (s.page_rows > 0) {
    for (int64_t i = CeilDiv(now, s.page_rows);
         i > CeilDiv(length, s.page_rows); --i) {
      s.pool.Leave(sequence, i - 1);
    }
  }
  now = length;
}

void KvCache::Fork(int64_t from, int64_t to, int64_t length) {
  static const std::string kFunction = "KvCache::Fork";
  const ArrayChecker check(kFunction);
  State& s = *state_;
  s.CheckSequence(check, from, "from");
  s.CheckSequence(check, to, "to");
  const int64_t all = s.lengths[static_cast<size_t>(from)];
  if (s.lengths[static_cast<size_t>(to)] != 0 || from == to) {
    check.Fail("to", "sequence " + Number(to) + " isn't empty",
               "trim it to 0 first");
  }
  if (length < 0 || length > all) {
    check.Fail("length", Number(length) + " is not within 0 and the " +
                             Number(all) + " keys of sequence " + Number(from));
  }
  const int64_t oldest = s.oldest[static_cast<size_t>(from)];
  if (s.ring.period > 0 && length != 0 && length != all) {
    check.Fail("length",
               Number(length) + " of the " + Number(all) + " keys of a ring",
               "fork all of them, then trim");
  }
  if (s.page_rows > 0) {
    s.pool.Share(from, to, CeilDiv(length, s.page_rows));
  } else if (oldest == 0) {
    s.CopyKeys(from, to, 0, length);
  } else if (length > 0) {
    s.CopyKeys(from, to, 0, s.ring.first_keys);
    s.CopyKeys(from, to, oldest, length);
  }
  s.lengths[static_cast<size_t>(to)] = length;
  s.oldest[static_cast<size_t>(to)] = length == 0 ? 0 : oldest;
}

void KvCache::Bind(AttentionProblem& problem) const {
  Bind(problem, 0, state_->sizes.sequences);
}

void KvCache::Bind(AttentionProblem& problem, int64_t first,
                   int64_t sequences) const {
  static const std::string kFunction = "KvCache::Bind";
  const State& s = *state_;
  if (first < 0 || sequences < 0 || first > s.sizes.sequences ||
      sequences > s.sizes.sequences - first) {
    ArrayChecker(kFunction).Fail(
        "sequences", Number(sequences) + " from " + Number(first) +
                         " on are not within the " + Number(s.sizes.sequences) +
                         " of the cache");
  }
  const auto part = [&](const TensorView& view) {
    return view.Slice(0, first, first + sequences);
  };
  const bool paged = s.page_rows > 0;
  const auto lent = [&](const TensorView& view) {
    return paged || !view.given() ? view : part(view);
  };
  problem.k = lent(s.k.rows);
  problem.v = lent(s.v.rows);
  problem.k_scales = lent(s.k.scales);
  problem.v_scales = lent(s.v.scales);
  problem.key_starts = {};
  problem.key_lengths = part(TensorView(s.lengths.data(), {s.sizes.sequences}));
  problem.block_table = paged ? part(s.pool.table()) : TensorView();
  problem.ring.reset();
  if (s.ring.period == 0) return;
  problem.ring = s.ring;
  problem.ring->oldest = part(s.ring.oldest);
}

void KvCache::Read(int64_t sequence, int64_t begin, const MutableTensorView& k,
                   const MutableTensorView& v) const {
  static const std::string kFunction = "KvCache::Read";
  const ArrayChecker check(kFunction);
  const State& s = *state_;
  s.CheckSequence(check, sequence, "sequence");
  const int64_t count = k.rank() == 4 ? k.shape[2] : 0;
  s.CheckRows(check, k, "k", 1, count, s.sizes.key_size);
  s.CheckRows(check, v, "v", 1, count, s.sizes.value_size);
  const int64_t length = s.lengths[static_cast<size_t>(sequence)];
  if (begin < 0 || begin > length || count > length - begin) {
    check.Fail("begin", Number(count) + " keys from " + Number(begin) +
                            " on are not within the " + Number(length) +
                            " of sequence " + Number(sequence));
  }
  const int64_t oldest = s.oldest[static_cast<size_t>(sequence)];
  if (begin < oldest && begin + count > s.ring.first_keys) {
    check.Fail("begin", "keys from " + Number(begin) + " on: those before " +
                            Number(oldest) +
                            " have been evicted, but for the "
                            "first " +
                            Number(s.ring.first_keys));
  }
  const auto read = [&](const StoredRows& array, const MutableTensorView& to) {
    const int64_t item = static_cast<int64_t>(ItemSize(to.dtype));
    for (int64_t head = 0; head < s.sizes.kv_heads; ++head) {
      const Rows rows = s.RowsIn(array, sequence, head);
      for (int64_t i = 0; i < count; ++i) {
        std::byte* at = static_cast<std::byte*>(to.mutable_data()) +
                        (head * to.strides[1] + i * to.strides[2]) * item;
        CopyRow(rows, begin + i, to.dtype, at, to.strides[3], to.shape[3]);
      }
    }
  };
  read(s.k, k);
  read(s.v, v);
}

const KvCacheSizes& KvCache::sizes() const { return state_->sizes; }

int64_t KvCache::length(int64_t sequence) const {
  static const std::string kFunction = "KvCache::length";
  state_->CheckSequence(ArrayChecker(kFunction), sequence, "sequence");
  return state_->lengths[static_cast<size_t>(sequence)];
}

int64_t KvCache::oldest(int64_t sequence) const {
  static const std::string kFunction = "KvCache::oldest";
  state_->CheckSequence(ArrayChecker(kFunction), sequence, "sequence");
  return state_->oldest[static_cast<size_t>(sequence)];
}

int64_t KvCache::capacity() const { return state_->capacity; }
int64_t KvCache::pages() const { return state_->pool.pages(); }
int64_t KvCache::free_pages() const { return state_->pool.free(); }

size_t KvCache::bytes() const {
  const State& s = *state_;
  return s.k.bytes() + s.v.bytes() + s.pool.bytes() +
         (s.lengths.capacity() + s.oldest.capacity()) * sizeof(int64_t);
}

}  // namespace regard::inline v0
