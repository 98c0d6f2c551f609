// Exact attention (Vaswani et al. 2017, equation 1), in memory linear in the
// length:
//
//   s      = scale * q k^T                    [B, Hq, Lq, Lk]
//   s      = softcap * tanh(s / softcap)      when softcap is set
//   s      = s + bias - slope * |i + offset - j|      with ALiBi
//   weights = softmax over the visible keys of each row
//             * sigmoid(lse - sink_logit) when there is one
//   out    = weights v                        [B, Hq, Lq, Dv]
//            (of weights after dropout, when there is some)
//
// B batch, Hq query heads, Hkv key/value heads (Hq = g * Hkv; query head h uses
// kv head h / g), Lq and Lk lengths, D and Dv head sizes.
#ifndef REGARD_ATTENTION_H_
#define REGARD_ATTENTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regard/mask.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// Where query 0 stands among the keys. Shared by every mask that compares
// positions. Has to be given when such a mask meets Lq != Lk; unset with
// Lq == Lk it is 0.
struct QueryOffset {
  enum class Kind { kTopLeft, kBottomRight, kExplicit };
  Kind kind = Kind::kTopLeft;
  int64_t value = 0;  // kExplicit: position of query 0

  static QueryOffset TopLeft() { return {Kind::kTopLeft, 0}; }
  // The last query stands at the last key, of each sequence's real lengths.
  static QueryOffset BottomRight() { return {Kind::kBottomRight, 0}; }
  static QueryOffset At(int64_t position) {
    return {Kind::kExplicit, position};
  }
};

// Keys that overwrite each other: key j lies in slot j while j < first_keys,
// then in slot first_keys + (j - first_keys) % period. Of a sequence of n keys
// the first `first_keys` and the last `period` are held; no query may see
// another one. Keys keep their true positions.
struct KeyRing {
  int64_t first_keys = 0, period = 0;
  // i32 or i64 [S]: keys from first_keys up to this one are lost, too, where
  // the end of a sequence was taken back after it had overwritten them. Not
  // given: none.
  TensorView oldest = {};
};

// Dropout on the weights: each becomes 0 with probability p, the others are
// multiplied by 1 / (1 - p). lse and returned weights are those before it. What
// is dropped follows from the numbers below alone: it is the same for any
// kernel, instruction set, threads, tiles and batch, and anew in every call
// with the same numbers.
//
// Query i and key j (counted from 0 in their sequence) of query head h: word j
// mod 4 of Philox4x32-10 (Salmon et al. 2011) with the key (seed mod 2^32, seed
// div 2^32) and the counter (j div 4, i, h, sequence id) is dropped when it is
// less than floor(2^32 p).
struct Dropout {
  double p = 0;  // in [0, 1)
  uint64_t seed = 0;
  // One for each sequence (batch entry), from 0 to 2^32 - 1; empty: 0, 1, 2 ...
  std::vector<int64_t> sequence_ids;
};

// Sequences of different lengths in one call. S sequences, each with masks,
// bias, offset and results of its own, as if it had been given alone, bit for
// bit: in what a mask or bias says, B means the sequence, Lq and Lk those of
// the longest, and query and key 0 its own first.
//
//   packed    query_starts: q, out, lse and weights are [1, Hq, total, ...];
//             key_starts: k and v are [1, Hkv, total, ...]
//   lengths   key_lengths: the first keys of [S, Hkv, capacity, ...] are real
//   pages     block_table and key_lengths: k and v are [pages, Hkv, page rows,
//             ...]; key j of sequence s is row j % rows of page
//             block_table[s, j / rows]
//   ring      key_lengths, as many as there ever were, on capacity or pages
//
// Queries may be packed or not, beside any keys. Nothing is read of what lies
// behind a length.
struct AttentionProblem {
  // Each f32, bf16 or f16 (arithmetic, lse and weights are then f32), or q f64
  // and k and v of any floating type (f64); any strides.
  TensorView q;  // [B, Hq, Lq, D]
  TensorView k;  // [B, Hkv, Lk, D]
  TensorView v;  // [B, Hkv, Lk, Dv]
  Mask mask;
  std::optional<QueryOffset> query_offset;
  std::optional<double> scale;    // unset: 1/sqrt(D); 0 and negatives are legal
  std::optional<double> softcap;  // unset: none; otherwise > 0
  // f32, f64, bf16 or f16, broadcast to [B, Hq, Lq, Lk] by numpy rules.
  // -infinity hides a key; a finite lowest value does not.
  TensorView bias;
  // ALiBi (Press et al. 2021): [Hq], any floating type, finite. Query i stands
  // at position i + offset, key j at j. AlibiSlopes gives the usual ones.
  TensorView alibi_slopes;
  // A learned sink (gpt-oss, 2025): [Hq], any floating type. One more logit in
  // the denominator of every softmax of its head, without key and value; lse
  // leaves it out. -infinity is none. An empty row stays 0. Partial results to
  // be merged are made without: multiply the merged out by sigmoid(lse -
  // sink_logit).
  TensorView sink_logit;
  std::optional<Dropout> dropout;  // for training; unset: none
  // k or v may be i8: element times the f32 scale of its row, in f32. [B, Hkv,
  // Lk] as they lie (or [1, Hkv, total], [pages, Hkv, page rows]), any strides.
  // Beside other types, none.
  TensorView k_scales, v_scales;
  // Each i32 or i64, any strides. Cumulative: 0 first, in order, the total
  // last.
  TensorView query_starts;  // [S + 1]
  TensorView key_starts;    // [S + 1]
  TensorView key_lengths;   // [S]
  TensorView block_table;   // [S, n]; entries behind a length are not read
  std::optional<KeyRing> ring;
};

struct AttentionOptions {
  bool lse = false;      // return log-sum-exp too
  bool weights = false;  // return the n x n weights too; never changes `out`
  int threads = 0;  // 0: all cores, or those of the host's pool (threads.h)
  std::string kernel =
      "";  // "": the plan chooses; else a name from KernelNames()
  // "": the widest of UsableInstructionSets(); else one of them.
  std::string instruction_set = "";
};

struct AttentionResult {
  Tensor out;  // [B, Hq, Lq, Dv] in q's type
  // [B, Hq, Lq] f32 (f64 for f64), natural log; -infinity for an empty row
  Tensor lse;
  // [B, Hq, Lq, Lk] f32 (f64 for f64); rows sum to 1 (less a sink's share), an
  // empty row to 0
  Tensor weights;
};

// Empty rows (no visible key) give out 0, weights 0, lse -infinity. What a mask
// hides has no effect, NaN included. Same instruction set, same bits: for any
// number of threads, batch, strides. (Up to 16 queries and more are served by
// two kernels, whose last bits differ.)
//
// Error (kArgument) naming argument, shapes and rule; (kMemory) before anything
// is written.
AttentionResult Attend(const AttentionProblem& problem,
                       const AttentionOptions& options = {});

// Where Run and AttendInto write. `out` is required; the others only when
// given. None may overlap an input.
struct AttentionOutputs {
  // [B, Hq, Lq, Dv], any floating type: rounded to it once, to nearest even
  MutableTensorView out;
  MutableTensorView lse;      // [B, Hq, Lq], f32 (f64 for f64)
  MutableTensorView weights;  // [B, Hq, Lq, Lk], f32 (f64 for f64)
};

// As Attend, into the caller's arrays. `lse` and `weights` of the options have
// no meaning here.
void AttendInto(const AttentionProblem& problem,
                const AttentionOutputs& outputs,
                const AttentionOptions& options = {});

// Tiles of the score matrix: those that a mask hides completely are neither
// computed nor read, those that it shows completely don't ask it again.
struct TileCounts {
  int64_t empty = 0, full = 0, mixed = 0;
};

// The choice of kernel, tiles and scratch for one problem, made once: Run any
// number of times on problems of the same types, heads and head sizes, with any
// mask, bias and scale, that are no larger: no more sequences, none of more
// queries than the longest, none of more keys than storage can hold (capacity,
// pages of a row of the table). So one plan serves a growing cache. Up to 16
// queries and more are served by different kernels: a plan for packed
// sequences of more has both, other plans have one. A plan made with document
// ids has memory for an index of them; without it, ids in no order are read one
// by one for each block of queries: the same bits, several times slower. Run
// allocates nothing, and is not to be called from two threads at once on one
// plan.
class AttentionPlan {
 public:
  // Checks the problem, chooses, and takes the scratch memory. `lse` and
  // `weights` of the options have no meaning here: Run writes what it is given.
  explicit AttentionPlan(const AttentionProblem& problem,
                         const AttentionOptions& options = {});
  ~AttentionPlan();
  AttentionPlan(AttentionPlan&&) noexcept;
  AttentionPlan& operator=(AttentionPlan&&) noexcept;

  // Error (kArgument) when types or heads differ from the planned ones, or the
  // problem is larger.
  void Run(const AttentionProblem& problem, const AttentionOutputs& outputs);

  // "decode", "flash", ...; "decode+flash" where short and long sequences are
  // served by two.
  std::string kernel() const;
  const std::string& instruction_set() const;  // "AVX3", "SCALAR", ...
  size_t scratch_bytes() const;
  // What the mask of a problem leaves, in tiles of the chosen kernel over all
  // heads; runs nothing. Asks the mask about every tile, which for an n x n
  // array means reading all of it. Error as from Attend.
  TileCounts CountTiles(const AttentionProblem& problem) const;
  // One line per kernel of the list: chosen, or refused with the reason; then
  // tile sizes, scratch, threads.
  std::string Describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What attention over some of the keys of a problem gave.
struct PartialAttention {
  TensorView out;  // [B, Hq, Lq, Dv], f32 or f64, any strides
  TensorView lse;  // [B, Hq, Lq], the same type
};

// Puts together what attention over disjoint sets of keys gave, as if it had
// seen all of them at once:
//
//   lse = log sum_p e^lse_p,    out = sum_p e^(lse_p - lse) out_p
//
// Writes out [B, Hq, Lq, Dv] and, when given, lse [B, Hq, Lq], in the type of
// the parts, which they may not overlap. Any number of parts, none included.
//
// A row of a part with lse -infinity is empty: its out is not read. A row that
// is empty in all parts is an empty row (out 0, lse -infinity). A row of one
// part alone comes out bit for bit. An lse that is NaN or +infinity makes the
// row's out and lse NaN; an out that isn't finite makes its element not finite,
// however small the part's share.
//
// Sums are kept in double: beside the errors of the parts themselves, the error
// is at most eps (n + 2 max|lse|) max|out| in out and eps (n + 2 max|lse|) in
// lse, for n parts, eps that of their type and the maxima over what isn't
// empty. The same parts in the same order give the same bits, for any number of
// threads and any strides; in another order, the last bits may differ.
//
// Error (kArgument) naming argument, shapes and rule, before anything is
// written; (kUnsupported) for other types.
void MergeAttention(std::span<const PartialAttention> parts,
                    const MutableTensorView& out,
                    const MutableTensorView& lse = {}, int threads = 0);
// The same into new arrays; at least one part.
AttentionResult MergeAttention(std::span<const PartialAttention> parts,
                               int threads = 0);

// Slopes of ALiBi for so many heads, f64 [heads]: 2^(-8 i / n), i = 1 ... n,
// for a power of two n; for other counts those of the power of two below,
// followed by every second one of the next (Press et al. 2021, and the code
// published with it). Error (kArgument) for a negative number.
Tensor AlibiSlopes(int64_t heads);

// Names of all kernels, best first; "reference" (plain loops in double) last.
std::vector<std::string> KernelNames();
// Instruction sets: built in, and usable on this machine (REGARD_MAX_ISA caps
// them), widest first. "AVX3_BF16" has the dot product of bf16 and is AVX3 for
// everything else: plans name what really runs.
std::vector<std::string> BuiltInstructionSets();
std::vector<std::string> UsableInstructionSets();

// A block of the weight matrix on its way by: rows [query_begin, query_end) of
// one (batch, head), keys [key_begin, key_end).
struct WeightTile {
  int64_t batch, head;
  int64_t query_begin, query_end, key_begin, key_end;
  const float*
      weights;  // weights[(q - query_begin) * stride + (k - key_begin)]
  int64_t stride;
};

// Streams the weights of a problem tile by tile, in f32 and O(L) memory. Tiles
// that a mask hides completely are left out (their weights are 0). The sink is
// called from several threads; the tiles of one (batch, head, query block) come
// in order of keys, from one thread. What it throws is passed on. Error
// (kUnsupported) where q is f64.
void ForEachWeightTile(const AttentionProblem& problem,
                       const AttentionOptions& options,
                       const std::function<void(const WeightTile&)>& sink);

// What a module hands over about one attention call while its inputs live.
struct AttentionCall {
  int layer = 0;
  const AttentionProblem* problem = nullptr;
  TensorView out;  // [B, Hq, Lq, Dv], before the output projection
  // W_O [d_model, Hq * Dv] of the module, when it has one: f^h(x_j) =
  // v_j W_O^h is what head h carries from key j.
  TensorView output_projection;
};

// Receives every attention call of a module or model, in order of layers. The
// views live only during the call.
class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  virtual void OnAttention(const AttentionCall& call) = 0;
};

}  // namespace regard::inline v0

#endif  // REGARD_ATTENTION_H_
