// What the tile loop asks of an instruction set: the arithmetic on one strip (a
// few queries) and one span of keys, on packed memory.
#ifndef REGARD_SRC_ATTENTION_KERNELS_FLASH_OPS_H_
#define REGARD_SRC_ATTENTION_KERNELS_FLASH_OPS_H_

#include <cstdint>

#include "attention/rows_ahead.h"
#include "attention/score/dropout.h"
#include "regard/mask.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

// Keys of a block. Scores of a strip against one block (12 x 512 floats, 24
// KiB) stay in the first-level cache, the block's packed keys and values (256
// KiB at D = 64) in the second. Blocks start at multiples of it, whatever the
// mask: the order of every sum follows from absolute key positions alone.
template <typename T>
inline constexpr int64_t kKeysPerBlock = 2048 / sizeof(T);

// Elements between the rows of the score strip: one cache line more than a
// block, so that its rows don't fall into one set of the cache.
template <typename T>
inline constexpr int64_t kScoreStride = kKeysPerBlock<T> + 64 / sizeof(T);

// A strip's state between key blocks, one number per row.
template <typename T>
struct RowState {
  T* max;     // running maximum of the scores; -infinity at first
  T* sum;     // of exp(score - max)
  T* factor;  // what the last Softmax multiplied the older sums with
};

// Runs of a span of keys, in order, counted from its first key. Each starts on
// a panel and holds whole vectors.
struct KeyRuns {
  const IndexRange* at;
  int64_t count;
};

template <typename T>
struct FlashOps {
  const char* instruction_set;
  int64_t lanes;       // of a vector
  int64_t panel;       // keys or value columns of a panel
  int64_t strip_rows;  // queries of a strip
  // Packed q, k and v and what softmax makes of scores are pairs of bf16 in the
  // place of a T (pack.h); `depth` counts such cells.
  bool pairs;

  int64_t pack_depth;  // the largest of pack_scores

  // s[r][0 .. count) = q[r] . k: q [depth][strip_rows], k panels
  // [depth][panel]; count is a multiple of lanes. `largest`, unless nullptr,
  // has room for strip_rows and gets the largest score of each row, or what is
  // left without a NaN. Fetches as many rows and keys of `ahead`,
  // and some `lines`.
  void (*scores)(int64_t rows, const T* q, const T* k, int64_t depth,
                 int64_t count, T* s, T* largest, const RowsAhead (&ahead)[2],
                 LinesAhead* lines);
  // The same for strip_rows rows and keys that aren't packed yet: key i lies at
  // rows + i * row_step; one panel of them or more, whole ones; depth is at
  // most pack_depth and a multiple of 16 bytes. Packs them to k: between the
  // products this costs next to nothing. nullptr for pairs.
  void (*pack_scores)(const T* q, const T* rows, int64_t row_step, T* k,
                      int64_t depth, int64_t count, T* s, T* largest,
                      const RowsAhead (&ahead)[2], LinesAhead* lines);
  // s[i] = scale * s[i]; then, when cap != 0, cap * tanh(s[i] / cap).
  void (*cap)(T* s, int64_t count, T scale, T cap);
  // s[i] += bias[i]; -infinity where the bias is, even if s[i] is NaN; never
  // -infinity where both are finite. `count` as it comes; the bias needs no
  // alignment.
  void (*add)(T* s, const T* bias, int64_t count);
  // The same for a bias in bf16. nullptr for double.
  void (*add_bf16)(T* s, const uint16_t* bias, int64_t count);
  // The same for the bias -slope * |distance - i|, for whole vectors. Distances
  // are whole numbers that T can tell apart, the bias fits T.
  void (*add_linear)(T* s, int64_t count, double slope, T distance);
  // s[i] = -infinity where bit first + i of `visible`, the lowest first, is not
  // set; first and count are multiples of lanes.
  void (*hide)(T* s, const uint64_t* visible, int64_t first, int64_t count);
  // Which of 64 bytes are not 0, the lowest bit for the first.
  uint64_t (*not_zero)(const uint8_t* bytes);
  // Updates max, sum and factor of each row with new scores; s becomes
  // 2^(log2_scale * (s - max)), in pairs rounded and moved together: key i in
  // half i of the row. `largest`: that of each row, as `scores` gives it, or
  // nullptr.
  void (*softmax)(int64_t rows, T* s, const KeyRuns& runs, T log2_scale,
                  const T* largest, const RowState<T>& state);
  // p[i] = 0, as softmax leaves a row, where dropout drops key i of the run.
  // The run begins with key `first_key`, a multiple of 4.
  void (*drop)(T* p, IndexRange run, int64_t first_key, const DropoutRow& row);
  // The same for a row as `weights` leaves it.
  void (*drop_weights)(T* p, IndexRange run, int64_t first_key,
                       const DropoutRow& row);
  // out[r] = out[r] * factor[r] + p[r] . v over the runs, which may begin and
  // end at any even key: v column panels of `panel_rows` rows each, of which
  // the first `skipped` are not meant, or, where panel_rows is 0, rows that lie
  // row_step apart, in no panels and not in pairs, of which runs may have any
  // number; out [rows][columns], columns a multiple of lanes. Fetches `lines`.
  void (*accumulate)(int64_t rows, const T* p, const T* v, int64_t skipped,
                     const KeyRuns& runs, int64_t panel_rows, int64_t row_step,
                     int64_t columns, const T* factor, T* out,
                     LinesAhead* lines);
  // The same, leaving out row r's key i where hidden[r * kKeysPerBlock + i].
  void (*accumulate_visible)(int64_t rows, const T* p, const T* v,
                             int64_t skipped, const KeyRuns& runs,
                             int64_t panel_rows, int64_t columns,
                             const T* factor, const uint8_t* hidden, T* out);
  // The same for p as `weights` gives them; in pairs, too, they are not
  // rounded.
  void (*accumulate_weights)(int64_t rows, const T* p, const T* v,
                             int64_t skipped, const KeyRuns& runs,
                             int64_t panel_rows, int64_t columns,
                             const T* factor, const uint8_t* hidden, T* out);
  // s[i] = 2^(log2_scale * (s[i] - max)) / sum; 0 for an empty row.
  void (*weights)(T* s, int64_t count, T log2_scale, T max, T sum);
  // out[i] / sum; 0 for an empty row. Returns whether all of it is finite.
  bool (*finish)(T* out, int64_t columns, T sum);
};

// nullptr where the instruction set has no vectors (SCALAR, EMU128).
template <typename T>
const FlashOps<T>* FlashOpsFor(SimdTarget target);

// On pairs. nullptr but for kAvx3Bf16.
const FlashOps<float>* FlashBF16OpsFor(SimdTarget target);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_KERNELS_FLASH_OPS_H_
