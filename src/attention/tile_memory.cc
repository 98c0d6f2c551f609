#include "attention/tile_memory.h"

#include <algorithm>

#include "attention/scratch_size.h"
#include "base/checked.h"

namespace regard::inline v0 {

using scratch::Lines;
using scratch::Product;
using scratch::Sum;
using scratch::Whole;

namespace {

// Queries of a block: enough that a block of packed keys and values, brought
// into the second-level cache once, is used for some 100 times the arithmetic
// that its transfer takes; few enough that they and their outputs (2 x 192 x
// 128 floats, 192 KiB, at D = 128) stay there beside it.
constexpr int64_t kBlockQueries = 192;

// Scratch for packed keys and values: half of a common last-level cache, so
// that what was packed is still there when it is read; far more work than a
// wave's two barriers cost. With few queries packing is much of the work: then
// a size that is written again before it has left a second-level cache.
constexpr int64_t kWaveBytes = int64_t{16} << 20;
constexpr int64_t kShortWaveBytes = int64_t{1} << 20;
constexpr int64_t kFewQueries = 256;  // of a kv head

// The most bytes of queries and output of a kv head (of all its query heads)
// that are one task, which packs for itself: beside a block of keys and values
// they have to stay in the second-level cache.
constexpr int64_t kOwnBytes = int64_t{1152} << 10;

// The same where it is a part of the queries, which each key block meets only
// some of.
constexpr int64_t kLocalBytes = int64_t{512} << 10;

// Heads of a wave where they are short: some hundred KiB of list.
constexpr int64_t kMostHeads = 4096;

// Whether tasks of a kv head each keep so many threads busy to the end.
bool FillThreads(int64_t heads, int threads) {
  return heads % threads == 0 || heads >= 16 * threads;
}

// Whether `queries` of a head in the middle of the longest sequence see so few
// keys that each such part of all queries can pack those that it sees, which
// are then packed more than once.
bool IsLocal(const Problem& p, const Workload& work, int64_t queries) {
  if (queries <= 0 || work.query_length <= queries) return false;
  const Sequence sequence = p.SequenceOf(0);
  const int64_t begin = sequence.query_length / 2;
  const IndexRange keys =
      p.MaskOf(sequence, 0)
          .Range({begin, std::min(begin + queries, sequence.query_length)},
                 {0, sequence.key_length});
  return 2 * (keys.end - keys.begin) <= 3 * p.group() * queries;
}

// Hands out parts of some memory, or counts their bytes where there is none.
class PartTaker {
 public:
  explicit PartTaker(std::byte* memory) : memory_(memory) {}

  template <typename U>
  U* Take(int64_t elements) {
    std::byte* const part = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ = Sum(bytes_, Whole(Product(elements, sizeof(U)), 64));
    return reinterpret_cast<U*>(part);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

template <typename T>
TileWorker<T> TakeWorker(const TileGeometry<T>& g, PartTaker& taker) {
  TileWorker<T> w;
  w.q = taker.Take<T>(Product(g.block_queries, g.depth));
  w.out = taker.Take<T>(Product(g.block_queries, g.columns));
  w.state = taker.Take<T>(3 * g.block_queries);
  w.refined = taker.Take<T>(g.columns);
  w.scores = taker.Take<T>(g.strip_rows * kScoreStride<T>);
  w.largest = taker.Take<T>(g.strip_rows);
  w.bias = taker.Take<T>(kKeysPerBlock<T>);
  w.runs = taker.Take<IndexRange>(kWordsPerBlock<T>);
  w.bits = taker.Take<uint64_t>(g.strip_rows * kWordsPerBlock<T>);
  w.visible = taker.Take<uint8_t>(kKeysPerBlock<T>);
  w.hidden = taker.Take<uint8_t>(g.strip_rows * kKeysPerBlock<T>);
  w.unusual = taker.Take<uint8_t>(g.block_queries / g.strip_rows);
  w.packed = {taker.Take<T>(g.PackedKeys(g.own_keys)),
              taker.Take<T>(g.PackedValues(g.own_keys)),
              taker.Take<ValueClass>(1), true};
  w.task = taker.Take<TileTask<T>>(1);
  return w;
}

}  // namespace

template <typename T>
TileGeometry<T>::TileGeometry(const Problem& p, const Workload& work,
                              const FlashOps<T>& ops, int threads,
                              int64_t limit) {
  strip_rows = ops.strip_rows;
  columns = Whole(p.value_size, ops.lanes);
  panel = ops.panel;
  pair = ops.pairs ? 2 : 1;
  depth = CeilDiv(p.head_size, pair);
  const int64_t heads = Product(work.sequences, p.kv_heads);
  most_heads = std::clamp<int64_t>(heads, 1, kMostHeads);

  const int64_t rows =
      std::max(Whole(work.query_length, strip_rows), strip_rows);
  own_keys = own_queries = 0;
  block_queries = std::min(rows, Whole(kBlockQueries, strip_rows));
  SetWorkers(threads);
  // All heads together, or as many as a good wave holds, or the longest.
  const int64_t longest = PackedBytes(work.key_length);
  const bool few = Product(p.group(), work.query_length) <= kFewQueries;
  const int64_t in_wave = std::clamp<int64_t>(
      (few ? kShortWaveBytes : kWaveBytes) / longest, few ? threads : 1,
      std::max<int64_t>(few ? threads : 1, heads));
  scratch_bytes = Sum(fixed_bytes, Product(in_wave, longest));

  const int64_t row_bytes = Product(Sum(depth, columns), sizeof(T));
  if (work.key_length == 0) return;
  TileGeometry own = *this;
  const int64_t part =
      kLocalBytes / std::max<int64_t>(1, Product(p.group(), row_bytes));
  if (FillThreads(heads, threads) &&
      Product(Product(p.group(), rows), row_bytes) <= kOwnBytes) {
    own.own_queries = rows;
  } else if (IsLocal(p, work, part / strip_rows * strip_rows)) {
    own.own_queries = part / strip_rows * strip_rows;
  } else {
    return;
  }
  own.own_keys = std::min(kKeysPerBlock<T>, Whole(work.key_length, panel));
  own.block_queries = p.group() * own.own_queries;
  own.SetWorkers(threads);
  if (own.fixed_bytes > limit) return;
  own.scratch_bytes = std::max(scratch_bytes, own.fixed_bytes);
  *this = own;
}

template <typename T>
void TileGeometry<T>::SetWorkers(int threads) {
  PartTaker count(nullptr);
  TakeWorker(*this, count);
  worker_bytes = count.bytes();
  fixed_bytes =
      Sum(RoundUp(most_heads * static_cast<int64_t>(sizeof(TileHead)), 64),
          Product(worker_bytes, threads));
}

template <typename T>
int64_t TileGeometry<T>::PackedKeys(int64_t keys) const {
  return Lines<T>(Product(Whole(keys, panel), depth));
}

template <typename T>
int64_t TileGeometry<T>::PackedValues(int64_t keys) const {
  const int64_t padded = Whole(keys, panel);
  return Lines<T>(Product(padded / pair, columns));
}

template <typename T>
int64_t TileGeometry<T>::PackedBytes(int64_t keys) const {
  const int64_t elements = Sum(PackedKeys(keys), PackedValues(keys));
  return Sum(Product(elements, sizeof(T)),
             RoundUp(CeilDiv(keys, kKeysPerBlock<T>), 64));
}

template <typename T>
PackedHead<T> TileGeometry<T>::Packed(const KernelRun& run,
                                      const TileHead& head) const {
  T* keys = reinterpret_cast<T*>(run.scratch + fixed_bytes + head.at);
  T* values = keys + PackedKeys(head.blocks.keys);
  auto* classes =
      reinterpret_cast<ValueClass*>(values + PackedValues(head.blocks.keys));
  return {keys, values, classes, false};
}

template <typename T>
TileWorker<T> TileGeometry<T>::WorkerOf(const KernelRun& run,
                                        int worker) const {
  PartTaker taker(run.scratch + fixed_bytes - (worker + 1) * worker_bytes);
  return TakeWorker(*this, taker);
}

template <typename T>
TileStrip<T> TileGeometry<T>::StripOf(const TileWorker<T>& w, int64_t slot,
                                      int64_t index, IndexRange queries) const {
  const int64_t rows = strip_rows;
  const int64_t begin = queries.begin + index * rows;
  T* state = w.state + slot * rows;
  return {{begin, std::min(begin + rows, queries.end)},
          w.q + slot * rows * depth,
          w.out + slot * rows * columns,
          {state, state + block_queries, state + 2 * block_queries},
          w.unusual + slot};
}

template <typename T>
TileWave TileGeometry<T>::NextWave(const Problem& p, const KernelRun& run,
                                   int64_t first_head) const {
  const int64_t heads = run.sequences.count * p.kv_heads;
  const int64_t room = run.scratch_bytes - fixed_bytes;
  TileWave wave;
  for (int64_t used = 0; wave.heads < most_heads; ++wave.heads) {
    const int64_t index = first_head + wave.heads;
    if (index >= heads) break;
    const Sequence sequence = p.SequenceOf(run.sequences[index / p.kv_heads]);
    const HeldBlocks blocks(sequence, kKeysPerBlock<T>);
    const int64_t bytes = own() ? 0 : PackedBytes(blocks.keys);
    if (bytes > room - used) break;
    const int64_t query_blocks =
        CeilDiv(sequence.query_length, own() ? own_queries : block_queries);
    Heads(run)[wave.heads] = {sequence,     blocks,     index % p.kv_heads,
                              query_blocks, wave.packs, wave.query_blocks,
                              used};
    used += bytes;
    wave.packs += own() ? 0 : blocks.count;
    wave.query_blocks += own() ? query_blocks : p.group() * query_blocks;
  }
  return wave;
}

template struct TileGeometry<float>;
template struct TileGeometry<double>;

}  // namespace regard::inline v0
