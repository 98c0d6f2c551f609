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

// Heads of a wave where they are short: some hundred KiB of list.
constexpr int64_t kMostHeads = 4096;

}  // namespace

template <typename T>
TileGeometry<T>::TileGeometry(const Problem& p, const Workload& work,
                              const FlashOps<T>& ops, int threads) {
  constexpr int64_t kSize = sizeof(T);
  strip_rows = ops.strip_rows;
  const int64_t rows = strip_rows;
  const int64_t wanted = std::min(kBlockQueries, work.query_length);
  block_queries = std::max<int64_t>(1, CeilDiv(wanted, rows)) * rows;
  columns = Whole(p.value_size, ops.lanes);
  panel = ops.panel;
  pair = ops.pairs ? 2 : 1;
  depth = CeilDiv(p.head_size, pair);
  const int64_t heads = Product(work.sequences, p.kv_heads);
  most_heads = std::clamp<int64_t>(heads, 1, kMostHeads);
  worker_elements =
      Sum(Sum(Lines<T>(Product(block_queries, depth)),
              Lines<T>(Product(block_queries, columns))),
          Sum(Lines<T>(columns),
              Lines<T>(3 * block_queries) + Lines<T>(rows * kScoreStride<T>) +
                  Lines<T>(rows) + Lines<T>(kKeysPerBlock<T>)));
  worker_bytes =
      RoundUp(Sum(Product(worker_elements, kSize),
                  (rows + 1) * kKeysPerBlock<T> +
                      rows * kWordsPerBlock<T> * int64_t{sizeof(uint64_t)} +
                      kWordsPerBlock<T> * int64_t{sizeof(IndexRange)}),
              64);
  fixed_bytes =
      Sum(RoundUp(most_heads * static_cast<int64_t>(sizeof(TileHead)), 64),
          Product(worker_bytes, threads));
  // All heads together, or as many as a good wave holds, or the longest.
  const int64_t longest = PackedBytes(work.key_length);
  const bool few = Product(p.group(), work.query_length) <= kFewQueries;
  const int64_t in_wave = std::clamp<int64_t>(
      (few ? kShortWaveBytes : kWaveBytes) / longest, few ? threads : 1,
      std::max<int64_t>(few ? threads : 1, heads));
  scratch_bytes = Sum(fixed_bytes, Product(in_wave, longest));
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
  return {
      keys, values,
      reinterpret_cast<ValueClass*>(values + PackedValues(head.blocks.keys))};
}

template <typename T>
TileWorker<T> TileGeometry<T>::WorkerOf(const KernelRun& run,
                                        int worker) const {
  T* at = reinterpret_cast<T*>(run.scratch + fixed_bytes -
                               (worker + 1) * worker_bytes);
  const auto take = [&at](int64_t elements) {
    T* part = at;
    at += Lines<T>(elements);
    return part;
  };
  TileWorker<T> w;
  w.q = take(block_queries * depth);
  w.out = take(block_queries * columns);
  w.state = take(3 * block_queries);
  w.refined = take(columns);
  w.scores = take(strip_rows * kScoreStride<T>);
  w.largest = take(strip_rows);
  w.bias = take(kKeysPerBlock<T>);
  w.runs = reinterpret_cast<IndexRange*>(at);
  w.bits = reinterpret_cast<uint64_t*>(w.runs + kWordsPerBlock<T>);
  w.visible =
      reinterpret_cast<uint8_t*>(w.bits + strip_rows * kWordsPerBlock<T>);
  w.hidden = w.visible + kKeysPerBlock<T>;
  return w;
}

template <typename T>
TileStrip<T> TileGeometry<T>::StripOf(const TileWorker<T>& w, int64_t index,
                                      IndexRange queries) const {
  const int64_t rows = strip_rows;
  const int64_t begin = queries.begin + index * rows;
  T* state = w.state + index * rows;
  return {{begin, std::min(begin + rows, queries.end)},
          w.q + index * rows * depth,
          w.out + index * rows * columns,
          {state, state + block_queries, state + 2 * block_queries}};
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
    const int64_t bytes = PackedBytes(blocks.keys);
    if (bytes > room - used) break;
    const int64_t query_blocks = CeilDiv(sequence.query_length, block_queries);
    Heads(run)[wave.heads] = {sequence,     blocks,     index % p.kv_heads,
                              query_blocks, wave.packs, wave.query_blocks,
                              used};
    used += bytes;
    wave.packs += blocks.count;
    wave.query_blocks += p.group() * query_blocks;
  }
  return wave;
}

template struct TileGeometry<float>;
template struct TileGeometry<double>;

}  // namespace regard::inline v0
