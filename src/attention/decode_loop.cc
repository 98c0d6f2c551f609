#include "attention/decode_loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <type_traits>

#include "attention/decode_rows.h"
#include "attention/output_row.h"
#include "attention/pack.h"
#include "attention/row_check.h"
#include "attention/score/bias.h"
#include "attention/score/dropout.h"
#include "attention/score/score_terms.h"
#include "attention/score/sink.h"
#include "attention/seen_keys.h"
#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"

namespace regard::inline v0 {

namespace {

template <typename T>
class DecodeLoop {
 public:
  DecodeLoop(const Problem& problem, const Outputs& outputs,
             const DecodeTable<T>& ops, const KernelRun& run)
      : p_(problem),
        outputs_(outputs),
        ops_(ops.flash),
        decode_(ops.decode),
        run_(run),
        geometry_(problem, run.work, ops, run.threads),
        terms_(problem, ops.flash) {}

  void Run() const;

 private:
  using Unit = DecodeUnit;
  using Worker = DecodeWorker<T>;
  static constexpr T kHidden = -std::numeric_limits<T>::infinity();

  // Rows.
  int64_t HeadOfRow(const Unit& unit, int64_t row) const;
  static int64_t QueryOfRow(const Unit& unit, int64_t row) {
    return row % unit.sequence.query_length;
  }

  // Tasks.
  void BlockTask(const Unit& unit, int64_t index, int worker) const;
  void FinishTask(const Unit& unit, int worker) const;

  // Scores of the rows against one key block: hidden ones at -infinity, in
  // worker.scores from the first key of the returned span on. The span is whole
  // vectors and starts on a panel, so that the order of sums follows from
  // positions; it is empty when no key is visible.
  IndexRange Scores(const Unit& unit, IndexRange rows, int64_t block,
                    const Worker& worker) const;
  IndexRange VisibleKeys(const Unit& unit, IndexRange rows, IndexRange block,
                         const Worker& worker) const;
  void FindRuns(const Unit& unit, IndexRange rows, IndexRange keys,
                const Worker& worker) const;
  void Products(const Unit& unit, IndexRange rows, IndexRange keys, T* s,
                const Worker& worker) const;
  ScoreRow ScoreRowOf(const Unit& unit, int64_t row) const;
  void Hide(const Unit& unit, int64_t row, IndexRange span, IndexRange keys,
            T* s) const;

  // Consumers.
  template <typename Op>
  void Drop(const Unit& unit, IndexRange rows, IndexRange span, Op drop,
            const Worker& worker) const;
  void PackRows(const Unit& unit, const Worker& worker) const;
  void Forward(const Unit& unit, IndexRange rows, int64_t block,
               const DecodePart<T>& part, const Worker& worker) const;
  template <typename Add>
  void ForValues(const Unit& unit, IndexRange keys, const Worker& worker,
                 const Add& add) const;
  void SelectedValues(const Unit& unit, IndexRange rows, int64_t block,
                      const DecodePart<T>& part, const Worker& worker) const;
  void MarkHidden(int64_t rows, int64_t count, const Worker& worker) const;
  void Refine(const Unit& unit, int64_t row, T max, T sum,
              const Worker& worker) const;
  T Share(int64_t head, T max, T sum) const;
  void FinishRow(const Unit& unit, int64_t row, T* max, T* sum,
                 const Worker& worker) const;
  void Weights(const Unit& unit, IndexRange rows, const T* max, const T* sum,
               const Worker& worker) const;
  void ClearWeights(const Unit& unit, int64_t row) const;
  void HandOver(const Unit& unit, int64_t row, IndexRange keys,
                const T* weights) const;

  const Problem& p_;
  const Outputs& outputs_;
  const FlashOps<T>& ops_;
  const DecodeOps<T>& decode_;
  const KernelRun& run_;
  const DecodeGeometry<T> geometry_;
  const ScoreTerms<T> terms_;
};

// ---------------------------------------------------------------- rows

template <typename T>
int64_t DecodeLoop<T>::HeadOfRow(const Unit& unit, int64_t row) const {
  return unit.kv_head * p_.group() + row / unit.sequence.query_length;
}

// ---------------------------------------------------------------- tasks

template <typename T>
void DecodeLoop<T>::Run() const {
  for (int worker = 0; worker < run_.threads; ++worker) {
    *geometry_.WorkerOf(run_, worker).packed = -1;
  }
  DecodeCursor next;
  while (next.sequence < run_.sequences.count) {
    const DecodeWave wave = geometry_.NextWave(p_, run_, next);
    const auto block = [&](int64_t task, int worker) {
      const ScopedFloatState float_state;
      const Unit& unit = EntryOfTask(geometry_.Units(run_), wave.units, task,
                                     &DecodeUnit::first_block);
      BlockTask(unit, task - unit.first_block, worker);
    };
    ParallelFor(wave.blocks, run_.threads, std::cref(block));
    const auto finish = [&](int64_t task, int worker) {
      const ScopedFloatState float_state;
      FinishTask(geometry_.Units(run_)[task], worker);
    };
    ParallelFor(wave.units, run_.threads, std::cref(finish));
  }
}

template <typename T>
void DecodeLoop<T>::BlockTask(const Unit& unit, int64_t index,
                              int worker) const {
  const Worker w = geometry_.WorkerOf(run_, worker);
  const DecodePart<T> part = geometry_.PartOf(run_, unit, index);
  const int64_t block = unit.blocks.BlockOf(index);
  std::fill(part.max, part.max + geometry_.unit_rows, kHidden);
  std::fill(part.sum, part.sum + geometry_.unit_rows, T{0});
  PackRows(unit, w);
  for (int64_t row = unit.rows.begin; row < unit.rows.end;
       row += kDecodeStripRows) {
    Forward(unit, {row, std::min(row + kDecodeStripRows, unit.rows.end)}, block,
            part, w);
  }
}

template <typename T>
void DecodeLoop<T>::FinishTask(const Unit& unit, int worker) const {
  const Worker w = geometry_.WorkerOf(run_, worker);
  for (int64_t row = unit.rows.begin; row < unit.rows.end;
       row += kDecodeStripRows) {
    const IndexRange rows = {row,
                             std::min(row + kDecodeStripRows, unit.rows.end)};
    T max[kDecodeStripRows], sum[kDecodeStripRows];
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      FinishRow(unit, r, max + (r - row), sum + (r - row), w);
    }
    if (outputs_.wants_weights()) Weights(unit, rows, max, sum, w);
  }
}

// The rows of a unit side by side, once for all its blocks that this worker
// gets one after the other.
template <typename T>
void DecodeLoop<T>::PackRows(const Unit& unit, const Worker& w) const {
  if (*w.packed == unit.index) return;
  *w.packed = unit.index;
  int64_t head = -1;
  Rows queries;
  for (int64_t r = unit.rows.begin; r < unit.rows.end; ++r) {
    if (HeadOfRow(unit, r) != head) {
      head = HeadOfRow(unit, r);
      queries = p_.Queries(unit.sequence, head);
    }
    T* to = w.q + (r - unit.rows.begin) * geometry_.depth;
    LoadColumns(queries, QueryOfRow(unit, r), 0, p_.head_size, to);
    // A sign and a power of two: rounded as little in T as in double.
    const T factor = static_cast<T>(terms_.scale().folded);
    for (int64_t d = 0; d < p_.head_size; ++d) to[d] *= factor;
    std::fill(to + p_.head_size, to + geometry_.depth, T{0});
    if (decode_.pairs) decode_.pair_up(to, geometry_.depth);
  }
}

// ---------------------------------------------------------------- scores

template <typename T>
IndexRange DecodeLoop<T>::Scores(const Unit& unit, IndexRange rows,
                                 int64_t block, const Worker& w) const {
  const int64_t first = block * kKeysPerBlock<T>;
  const IndexRange keys =
      VisibleKeys(unit, rows, {first, first + kKeysPerBlock<T>}, w);
  if (keys.empty()) return {};
  const IndexRange span = {keys.begin / ops_.panel * ops_.panel,
                           RoundUp(keys.end, ops_.lanes)};
  for (int64_t i = 0; i < *w.run_count; ++i) {
    Products(unit, rows, w.runs[i], w.scores + (w.runs[i].begin - span.begin),
             w);
  }
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    T* s = w.scores + (r - rows.begin) * kScoreStride<T>;
    if (terms_.any()) terms_.Apply(ScoreRowOf(unit, r), span, s, w.bias);
    Hide(unit, r, span, w.visible_keys[r - rows.begin], s);
  }
  return span;
}

template <typename T>
ScoreRow DecodeLoop<T>::ScoreRowOf(const Unit& unit, int64_t row) const {
  const int64_t head = HeadOfRow(unit, row), query = QueryOfRow(unit, row);
  const int64_t offset = p_.MaskOf(unit.sequence, head).frame().offset;
  return {unit.sequence.index, head, query, unit.sequence.key_length,
          SaturatingAdd(query, offset)};
}

// The keys of the block that some row sees, and worker.runs of them;
// worker.visible_keys of each row.
template <typename T>
IndexRange DecodeLoop<T>::VisibleKeys(const Unit& unit, IndexRange rows,
                                      IndexRange block, const Worker& w) const {
  IndexRange all;
  bool pattern = false;
  if (p_.mask->terms().empty()) {  // the same for all rows: many are short
    all = block & IndexRange{0, unit.sequence.key_length};
    std::fill_n(w.visible_keys, rows.end - rows.begin, all);
    w.runs[0] = all;
    *w.run_count = all.empty() ? 0 : 1;
    return all;
  }
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const IndexRange query = {QueryOfRow(unit, r), QueryOfRow(unit, r) + 1};
    const MaskSet mask = p_.MaskOf(unit.sequence, HeadOfRow(unit, r));
    IndexRange keys = mask.Range(query, block);
    const TileClass tile =
        keys.empty() ? TileClass::kEmpty : mask.Classify({query, keys});
    if (tile == TileClass::kEmpty) keys = {};
    pattern |= tile == TileClass::kMixed && mask.HasPattern();
    all = Hull(all, keys);
    w.visible_keys[r - rows.begin] = keys;
  }
  w.runs[0] = all;
  *w.run_count = all.empty() ? 0 : 1;
  if (pattern) FindRuns(unit, rows, all, w);
  return all;
}

// The keys of [keys.begin, keys.end) without the pieces that a pattern hides
// from all rows.
template <typename T>
void DecodeLoop<T>::FindRuns(const Unit& unit, IndexRange rows, IndexRange keys,
                             const Worker& w) const {
  int64_t count = 0;
  for (int64_t end, at = keys.begin; at < keys.end; at = end) {
    end = std::min(RoundUp(at + 1, kKeysPerPiece), keys.end);
    IndexRange seen;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      const IndexRange piece =
          w.visible_keys[r - rows.begin] & IndexRange{at, end};
      if (piece.empty() || (piece & seen) == piece) continue;
      const MaskSet mask = p_.MaskOf(unit.sequence, HeadOfRow(unit, r));
      seen = Hull(
          seen,
          mask.Range({QueryOfRow(unit, r), QueryOfRow(unit, r) + 1}, piece));
    }
    if (seen.empty()) continue;
    if (count > 0 && w.runs[count - 1].end == seen.begin) {
      w.runs[count - 1].end = seen.end;
    } else {
      w.runs[count++] = seen;
    }
  }
  *w.run_count = count;
}

template <typename T>
void DecodeLoop<T>::Products(const Unit& unit, IndexRange rows, IndexRange keys,
                             T* s, const Worker& w) const {
  const Rows k = p_.Keys(unit.sequence, unit.kv_head);
  const int64_t stride = geometry_.depth;
  const T* q = w.q + (rows.begin - unit.rows.begin) * stride;
  const Rows v = p_.Values(unit.sequence, unit.kv_head);
  DecodeRows<T>(decode_, k, p_.head_size, w.copied, v.At(keys.begin))
      .ForEach(keys, [&](int64_t j, const StoredRun<T>& run) {
        run.ops->scores(rows.end - rows.begin, q, stride, run.rows, run.columns,
                        run.count, s + (j - keys.begin));
      });
}

template <typename T>
void DecodeLoop<T>::Hide(const Unit& unit, int64_t row, IndexRange span,
                         IndexRange visible, T* s) const {
  const IndexRange keys =
      visible.empty() ? IndexRange{span.end, span.end} : visible;
  std::fill(s, s + (keys.begin - span.begin), kHidden);
  std::fill(s + (keys.end - span.begin), s + (span.end - span.begin), kHidden);
  const MaskSet mask = p_.MaskOf(unit.sequence, HeadOfRow(unit, row));
  if (keys.empty() || !mask.HasPattern()) return;
  const int64_t first = span.begin / kKeysPerBlock<T> * kKeysPerBlock<T>;
  std::array<uint64_t, kKeysPerBlock<T> / kKeysPerWord> bits = {};
  mask.SetRow(QueryOfRow(unit, row), keys, {first, bits.data()});
  ops_.hide(s, bits.data(), span.begin - first, span.end - span.begin);
}

// ---------------------------------------------------------------- consumers

// Dropout on the weights of some rows, where there is some, as `drop` of
// FlashOps or as drop_weights.
template <typename T>
template <typename Op>
void DecodeLoop<T>::Drop(const Unit& unit, IndexRange rows, IndexRange span,
                         Op drop, const Worker& w) const {
  for (int64_t r = rows.begin; p_.dropout != nullptr && r < rows.end; ++r) {
    drop(w.scores + (r - rows.begin) * kScoreStride<T>,
         {0, span.end - span.begin}, span.begin,
         DropoutRowOf(*p_.dropout, unit.sequence.index, HeadOfRow(unit, r),
                      QueryOfRow(unit, r)));
  }
}

template <typename T>
void DecodeLoop<T>::Forward(const Unit& unit, IndexRange rows, int64_t block,
                            const DecodePart<T>& part, const Worker& w) const {
  const IndexRange span = Scores(unit, rows, block, w);
  if (span.empty()) return;
  const int64_t at = rows.begin - unit.rows.begin;
  const int64_t count = rows.end - rows.begin;
  const IndexRange all = {0, span.end - span.begin};
  ops_.softmax(count, w.scores, {&all, 1}, terms_.scale().log2_scale, nullptr,
               {part.max + at, part.sum + at, w.factor});
  if (!outputs_.out.given()) return;
  Drop(unit, rows, span, ops_.drop, w);

  T* out = part.out + at * geometry_.columns;
  std::fill(out, out + count * geometry_.columns, T{0});
  ForValues(unit, span, w, [&](int64_t i, const StoredRun<T>& v) {
    v.ops->accumulate(count, w.scores + i / decode_.pair(), v.rows, v.count,
                      v.columns, out, geometry_.columns);
  });
  // A hidden value that isn't finite must not even be multiplied by 0.
  if (!AllFinite(out, count * geometry_.columns)) {
    SelectedValues(unit, rows, block, part, w);
  }
}

// Calls add(i, values) for the values of the keys from i on of the span, those
// that some row may see, in order.
template <typename T>
template <typename Add>
void DecodeLoop<T>::ForValues(const Unit& unit, IndexRange span,
                              const Worker& w, const Add& add) const {
  const Rows v = p_.Values(unit.sequence, unit.kv_head);
  // What comes next is likely to be the next block.
  const int64_t next = RoundUp(span.end, kKeysPerBlock<T>);
  const void* after = nullptr;
  if (next < unit.sequence.key_length) {
    after = p_.Keys(unit.sequence, unit.kv_head).At(next);
  }
  const DecodeRows<T> values(decode_, v, p_.value_size, w.copied, after);
  for (const IndexRange& run :
       std::span(w.runs, static_cast<size_t>(*w.run_count))) {
    values.ForPairs(run, [&](int64_t j, const StoredRun<T>& some) {
      add(j - span.begin, some);
    });
  }
}

// The output of a block again, leaving out what a row doesn't see.
template <typename T>
void DecodeLoop<T>::SelectedValues(const Unit& unit, IndexRange rows,
                                   int64_t block, const DecodePart<T>& part,
                                   const Worker& w) const {
  const IndexRange span = Scores(unit, rows, block, w);
  const int64_t at = rows.begin - unit.rows.begin;
  const int64_t count = rows.end - rows.begin;
  MarkHidden(count, span.end - span.begin, w);
  std::fill(part.max + at, part.max + at + count, kHidden);
  std::fill(part.sum + at, part.sum + at + count, T{0});
  const IndexRange all = {0, span.end - span.begin};
  ops_.softmax(count, w.scores, {&all, 1}, terms_.scale().log2_scale, nullptr,
               {part.max + at, part.sum + at, w.factor});
  Drop(unit, rows, span, ops_.drop, w);
  T* out = part.out + at * geometry_.columns;
  std::fill(out, out + count * geometry_.columns, T{0});
  ForValues(unit, span, w, [&](int64_t i, const StoredRun<T>& v) {
    for (int64_t r = 0; r < count; ++r) {
      const T* weights = w.scores + r * kScoreStride<T> + i / decode_.pair();
      v.ops->accumulate_visible(weights, v.rows, v.count, v.columns,
                                w.hidden + r * kKeysPerBlock<T> + i,
                                out + r * geometry_.columns);
    }
  });
}

template <typename T>
void DecodeLoop<T>::MarkHidden(int64_t rows, int64_t count,
                               const Worker& w) const {
  for (int64_t r = 0; r < rows; ++r) {
    const T* s = w.scores + r * kScoreStride<T>;
    uint8_t* hidden = w.hidden + r * kKeysPerBlock<T>;
    for (int64_t i = 0; i < count; ++i) hidden[i] = s[i] == kHidden;
  }
}

// Computes what is not exact in a row once more: the sum of weight times value
// over the visible keys, from -0, which changes nothing that is added to it.
template <typename T>
void DecodeLoop<T>::Refine(const Unit& unit, int64_t row, T max, T sum,
                           const Worker& w) const {
  PackRows(unit, w);
  std::fill(w.refined, w.refined + geometry_.columns, -T{0});
  std::fill(w.piece, w.piece + geometry_.columns, -T{0});
  int64_t piece_end = 0;  // of the keys whose sum is in `piece`
  const auto add_piece = [&] {
    for (int64_t e = 0; e < geometry_.columns; ++e) w.refined[e] += w.piece[e];
    std::fill(w.piece, w.piece + geometry_.columns, -T{0});
  };
  for (int64_t i = 0; i < unit.blocks.count; ++i) {
    const int64_t block = unit.blocks.BlockOf(i);
    const IndexRange span = Scores(unit, {row, row + 1}, block, w);
    if (span.empty()) continue;
    const int64_t count = span.end - span.begin;
    MarkHidden(1, count, w);
    ops_.weights(w.scores, count, terms_.scale().log2_scale, max, sum);
    Drop(unit, {row, row + 1}, span, ops_.drop_weights, w);
    const auto add = [&](int64_t i, const StoredRun<T>& v) {
      for (int64_t end, j = 0; j < v.count; j = end) {
        const int64_t key = span.begin + i + j;
        if (key >= piece_end) {
          add_piece();
          piece_end = key + ToPieceEnd(key);
        }
        end = std::min(v.count, j + piece_end - key);
        v.ops->accumulate_weights(w.scores + i + j, v.From(j), end - j,
                                  v.columns, w.hidden + i + j, w.piece);
      }
    };
    ForValues(unit, span, w, add);
  }
  add_piece();
  for (int64_t e = 0; e < p_.value_size; ++e) {
    if (!IsExact(w.out + e, 1, sum)) w.out[e] = w.refined[e];
  }
}

// What a learned sink leaves of the weights of a row.
template <typename T>
T DecodeLoop<T>::Share(int64_t head, T max, T sum) const {
  if (!p_.sink_logit.given()) return 1;
  return static_cast<T>(ShareBesideSink(terms_.scale().LogSumExp(max, sum),
                                        HeadNumber(p_.sink_logit, head)));
}

// Merges the parts of a row in order of keys and writes what is asked for.
template <typename T>
void DecodeLoop<T>::FinishRow(const Unit& unit, int64_t row, T* max, T* sum,
                              const Worker& w) const {
  *max = kHidden;
  *sum = 0;
  const int64_t columns = outputs_.out.given() ? geometry_.columns : 0;
  std::fill(w.out, w.out + columns, T{0});
  const int64_t at = row - unit.rows.begin;
  for (int64_t i = 0; i < unit.blocks.count; ++i) {
    const DecodePart<T> part = geometry_.PartOf(run_, unit, i);
    if (part.sum[at] == 0) continue;  // nothing visible
    if (*sum == 0) {                  // the first one
      *max = part.max[at];
      *sum = part.sum[at];
      const T* out = part.out + at * geometry_.columns;
      std::copy(out, out + columns, w.out);
      continue;
    }
    decode_.merge(part.out + at * geometry_.columns, part.max[at], part.sum[at],
                  terms_.scale().log2_scale, columns, w.out, max, sum);
  }
  const int64_t head = HeadOfRow(unit, row);
  const OutputRow to = unit.sequence.Row(head, QueryOfRow(unit, row));
  if (outputs_.lse.given()) {
    *to.In<T>(outputs_.lse) =
        static_cast<T>(terms_.scale().LogSumExp(*max, *sum));
  }
  if (!outputs_.out.given()) return;
  ops_.finish(w.out, geometry_.columns, *sum);
  if (!IsExact(w.out, p_.value_size, *sum)) Refine(unit, row, *max, *sum, w);
  T share = Share(head, *max, *sum);
  if (p_.dropout != nullptr) share *= static_cast<T>(KeptScale(*p_.dropout));
  for (int64_t e = 0; share != 1 && e < p_.value_size; ++e) w.out[e] *= share;
  StoreOutRow(outputs_.out, to, w.out);
}

template <typename T>
void DecodeLoop<T>::Weights(const Unit& unit, IndexRange rows, const T* max,
                            const T* sum, const Worker& w) const {
  PackRows(unit, w);
  for (int64_t r = rows.begin; r < rows.end; ++r) ClearWeights(unit, r);
  for (int64_t i = 0; i < unit.blocks.count; ++i) {
    const int64_t block = unit.blocks.BlockOf(i);
    const IndexRange span = Scores(unit, rows, block, w);
    if (span.empty()) continue;
    const int64_t count = span.end - span.begin;
    for (int64_t r = 0; r < rows.end - rows.begin; ++r) {
      T* s = w.scores + r * kScoreStride<T>;
      const T share = Share(HeadOfRow(unit, rows.begin + r), max[r], sum[r]);
      WeightsFromScores(ops_, s, count, terms_.scale().log2_scale, max[r],
                        sum[r], share, w.visible);
      const IndexRange keys = w.visible_keys[r];
      if (keys.empty()) continue;
      HandOver(unit, rows.begin + r, keys, s + (keys.begin - span.begin));
    }
  }
}

// What the mask hides from all rows is never visited again.
template <typename T>
void DecodeLoop<T>::ClearWeights(const Unit& unit, int64_t row) const {
  if (!outputs_.weights.given()) return;
  ClearWeightsRow<T>(
      outputs_.weights,
      unit.sequence.Row(HeadOfRow(unit, row), QueryOfRow(unit, row)));
}

template <typename T>
void DecodeLoop<T>::HandOver(const Unit& unit, int64_t row, IndexRange keys,
                             const T* weights) const {
  const int64_t head = HeadOfRow(unit, row), query = QueryOfRow(unit, row);
  if (outputs_.weights.given()) {
    StoreWeightsRow(outputs_.weights, unit.sequence.Row(head, query),
                    keys.begin, keys.end, weights);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (outputs_.sink != nullptr) {
      (*outputs_.sink)({unit.sequence.index, head, query, query + 1, keys.begin,
                        keys.end, weights, kScoreStride<T>});
    }
  }
}

}  // namespace

template <typename T>
void RunDecodeLoop(const Problem& problem, const Outputs& outputs,
                   const DecodeTable<T>& ops, const KernelRun& run) {
  DecodeLoop<T>(problem, outputs, ops, run).Run();
}

template void RunDecodeLoop(const Problem&, const Outputs&,
                            const DecodeTable<float>&, const KernelRun&);
template void RunDecodeLoop(const Problem&, const Outputs&,
                            const DecodeTable<double>&, const KernelRun&);

}  // namespace regard::inline v0
