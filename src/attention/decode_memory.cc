#include "attention/decode_memory.h"

#include <algorithm>

#include "attention/scratch_size.h"
#include "attention/seen_keys.h"
#include "base/checked.h"

namespace regard::inline v0 {

using scratch::Lines;
using scratch::Product;
using scratch::Sum;
using scratch::Whole;

namespace {

// Rows of a unit: a group of 8 heads with 8 queries each. Keys and values of a
// block come from memory once for all of them.
constexpr int64_t kUnitRows = 64;

// Scratch for the parts of a wave.
constexpr int64_t kWaveBytes = int64_t{16} << 20;

// Units of a wave where they are short: some hundred KiB of list.
constexpr int64_t kMostUnits = 4096;

// Runs of keys in a block between which a pattern hides whole pieces.
template <typename T>
constexpr int64_t kMaxRuns = kKeysPerBlock<T> / kKeysPerPiece;

}  // namespace

template <typename T>
DecodeGeometry<T>::DecodeGeometry(const Problem& p, const Workload& work,
                                  const DecodeTable<T>& ops, int threads) {
  constexpr int64_t kSize = sizeof(T);
  const int64_t rows = Product(p.group(), work.query_length);
  unit_rows = RoundUp(std::clamp<int64_t>(rows, 1, kUnitRows), kDecodeTileRows);
  const int64_t units = std::max<int64_t>(
      1,
      Product(Product(work.sequences, p.kv_heads), CeilDiv(rows, unit_rows)));
  most_units = std::min(units, kMostUnits);
  depth = Whole(p.head_size, ops.decode.lanes);
  columns = Whole(p.value_size, ops.decode.lanes);
  part_elements =
      Sum(Lines<T>(Product(unit_rows, columns)), 2 * Lines<T>(unit_rows));
  const int64_t elements =
      Sum(Sum(Lines<T>(Product(unit_rows, depth)),
              Lines<T>(Product(kCopiedRows, std::max(depth, columns)))),
          3 * Lines<T>(columns) + Lines<T>(kDecodeStripRows * kScoreStride<T>) +
              Lines<T>(kDecodeStripRows) + Lines<T>(kKeysPerBlock<T>));
  worker_bytes =
      RoundUp(Sum(Product(elements, kSize),
                  (kDecodeStripRows + 1) * kKeysPerBlock<T> +
                      (kDecodeStripRows +
                       kMaxRuns<T>)*static_cast<int64_t>(sizeof(IndexRange)) +
                      2 * static_cast<int64_t>(sizeof(int64_t))),
              64);
  fixed_bytes =
      Sum(RoundUp(most_units * static_cast<int64_t>(sizeof(DecodeUnit)),
                  int64_t{kScratchAlignment}),
          Product(worker_bytes, threads));
  // The parts of all units, or of as many as a good wave has, or of the
  // longest.
  const int64_t blocks = CeilDiv(work.key_length, kKeysPerBlock<T>);
  const int64_t longest =
      std::max<int64_t>(1, Product(blocks, Product(part_elements, kSize)));
  scratch_bytes = Sum(
      fixed_bytes,
      Product(longest, std::clamp<int64_t>(kWaveBytes / longest, 1, units)));
}

template <typename T>
DecodePart<T> DecodeGeometry<T>::PartOf(const KernelRun& run,
                                        const DecodeUnit& unit,
                                        int64_t index) const {
  T* out = reinterpret_cast<T*>(run.scratch + fixed_bytes) +
           (unit.first_block + index) * part_elements;
  T* max = out + Lines<T>(unit_rows * columns);
  return {out, max, max + Lines<T>(unit_rows)};
}

template <typename T>
DecodeWorker<T> DecodeGeometry<T>::WorkerOf(const KernelRun& run,
                                            int worker) const {
  T* at = reinterpret_cast<T*>(run.scratch + fixed_bytes -
                               (worker + 1) * worker_bytes);
  const auto take = [&at](int64_t elements) {
    T* part = at;
    at += Lines<T>(elements);
    return part;
  };
  DecodeWorker<T> w;
  w.q = take(unit_rows * depth);
  w.copied = take(kCopiedRows * std::max(depth, columns));
  w.out = take(columns);
  w.refined = take(columns);
  w.piece = take(columns);
  w.scores = take(kDecodeStripRows * kScoreStride<T>);
  w.factor = take(kDecodeStripRows);
  w.bias = take(kKeysPerBlock<T>);
  w.packed = reinterpret_cast<int64_t*>(at);
  w.run_count = w.packed + 1;
  w.runs = reinterpret_cast<IndexRange*>(w.packed + 2);
  w.visible_keys = w.runs + kMaxRuns<T>;
  w.visible = reinterpret_cast<uint8_t*>(w.visible_keys + kDecodeStripRows);
  w.hidden = w.visible + kKeysPerBlock<T>;
  return w;
}

template <typename T>
DecodeWave DecodeGeometry<T>::NextWave(const Problem& p, const KernelRun& run,
                                       DecodeCursor& next) const {
  const int64_t room =
      (run.scratch_bytes - fixed_bytes) / (part_elements * int64_t{sizeof(T)});
  DecodeWave wave;
  while (next.sequence < run.sequences.count && wave.units < most_units) {
    const Sequence sequence = p.SequenceOf(run.sequences[next.sequence]);
    const HeldBlocks blocks(sequence, kKeysPerBlock<T>);
    if (blocks.count > room - wave.blocks) break;
    const int64_t rows = p.group() * sequence.query_length;
    const int64_t end = std::min(next.row + unit_rows, rows);
    Units(run)[wave.units++] = {next.units++, sequence,        blocks,
                                next.kv_head, {next.row, end}, wave.blocks};
    wave.blocks += blocks.count;
    next.row = end;
    if (next.row < rows) continue;
    next.row = 0;
    if (++next.kv_head < p.kv_heads) continue;
    next.kv_head = 0;
    ++next.sequence;
  }
  return wave;
}

template struct DecodeGeometry<float>;
template struct DecodeGeometry<double>;

}  // namespace regard::inline v0
