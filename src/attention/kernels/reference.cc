#include "attention/kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "attention/output_row.h"
#include "attention/score/alibi.h"
#include "attention/score/bias.h"
#include "attention/score/dropout.h"
#include "attention/score/sink.h"
#include "attention/score/softcap.h"
#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"

namespace regard::inline v0 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Products summed at a time: the error of one long chain of additions grows
// with its length, which f64 problems would show.
constexpr int64_t kPiece = 32;

// One query of one head.
struct Row {
  Sequence sequence;
  int64_t head, query;
};

// A worker's memory: the row of scores and then weights, one a held key, a row
// of the output [Dv], and a row for a sink.
struct RowScratch {
  double* scores;
  double* out;
  float* tile;
};

// score + a bias that is finite or NaN: only -infinity hides, so a sum of two
// finite numbers is never lower than the lowest one.
double AddFinite(double score, double bias) {
  const double sum = score + bias;
  if (sum != -kInfinity || score == -kInfinity) return sum;
  return std::numeric_limits<double>::lowest();
}

// scale * q . k_j, softcap, + bias, + ALiBi; a bias of -infinity hides the key.
// `position` is the query's.
double Score(const Problem& p, const Row& row, int64_t position, int64_t j) {
  double bias = 0;
  if (p.bias.given()) {
    LoadBias(p.bias, row.sequence.index, row.head, row.query, j, 1, &bias);
  }
  if (bias == -kInfinity) return bias;
  const Rows queries = p.Queries(row.sequence, row.head);
  const Rows keys = p.Keys(row.sequence, row.head / p.group());
  double dot = 0;
  for (int64_t begin = 0; begin < p.head_size; begin += kPiece) {
    const int64_t count = std::min(kPiece, p.head_size - begin);
    double q[kPiece], k[kPiece], piece = 0;
    LoadColumns(queries, row.query, begin, count, q);
    LoadColumns(keys, j, begin, count, k);
    for (int64_t d = 0; d < count; ++d) piece += q[d] * k[d];
    dot += piece;
  }
  double alibi = 0;
  if (p.alibi_slopes.given()) {
    LoadAlibi(HeadNumber(p.alibi_slopes, row.head), position, j, 1, &alibi);
  }
  const double score = Softcap(p.scale * dot, p.softcap);
  return AddFinite(AddFinite(score, bias), alibi);
}

// What dropout multiplies a weight by.
double Kept(const Problem& p, const Row& row, int64_t j) {
  if (p.dropout == nullptr) return 1;
  const DropoutRow words =
      DropoutRowOf(*p.dropout, row.sequence.index, row.head, row.query);
  return IsDropped(words, j) ? 0 : KeptScale(*p.dropout);
}

// The executable specification. A score of -infinity stands for a hidden key,
// and a hidden key's k and v are never read. T is the type of lse and weights.
template <typename T>
void ReferenceRow(const Problem& p, const Row& row, const RowScratch& scratch,
                  const Outputs& outputs) {
  const Sequence& sequence = row.sequence;
  const int64_t count = sequence.HeldKeys();  // Lk, but for rings
  double* s = scratch.scores;                 // [count]

  // 1. Scores, where the mask allows them.
  const MaskSet mask = p.MaskOf(sequence, row.head);
  const int64_t position = SaturatingAdd(row.query, mask.frame().offset);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = sequence.HeldKey(i);
    s[i] = mask.Allows(row.query, j) ? Score(p, row, position, j) : -kInfinity;
  }

  // 2. Their maximum. NaN never wins: it shows in the sum.
  double max = -kInfinity;
  for (int64_t i = 0; i < count; ++i) {
    if (s[i] > max) max = s[i];
  }

  // 3. Numerators of the softmax, and their sum.
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (s[i] != -kInfinity) sum += std::exp(s[i] - max);
  }

  // 4. Weights: 0 for hidden keys, so for all keys of an empty row.
  const double lse = sum == 0 ? -kInfinity : max + std::log(sum);
  const double share =
      p.sink_logit.given()
          ? ShareBesideSink(lse, HeadNumber(p.sink_logit, row.head))
          : 1;
  double* out = scratch.out;  // [Dv]
  // A sum that starts at -0 leaves the -0 of an only visible key as it is.
  std::fill(out, out + p.value_size, sum == 0 ? 0.0 : -0.0);
  const Rows values = p.Values(sequence, row.head / p.group());
  for (int64_t i = 0; i < count; ++i) {
    const bool hidden = s[i] == -kInfinity;
    s[i] = hidden ? 0 : std::exp(s[i] - max) / sum * share;
    if (hidden) continue;

    // 5. Output: sum of weight, after dropout, times value.
    const double weight = s[i] * Kept(p, row, sequence.HeldKey(i));
    for (int64_t begin = 0; begin < p.value_size; begin += kPiece) {
      const int64_t columns = std::min(kPiece, p.value_size - begin);
      double v[kPiece];
      LoadColumns(values, sequence.HeldKey(i), begin, columns, v);
      for (int64_t e = 0; e < columns; ++e) out[begin + e] += weight * v[e];
    }
  }

  // 6. Rounded to the types of the outputs, once.
  const OutputRow to = sequence.Row(row.head, row.query);
  if (outputs.out.given()) StoreOutRow(outputs.out, to, out);
  if (outputs.lse.given()) *to.In<T>(outputs.lse) = static_cast<T>(lse);
  if (outputs.weights.given()) {
    ClearWeightsRow<T>(outputs.weights, to);
    T* weights = to.In<T>(outputs.weights);
    for (int64_t i = 0; i < count; ++i) {
      weights[sequence.HeldKey(i) * outputs.weights.strides[3]] =
          static_cast<T>(s[i]);
    }
  }
  if (outputs.sink == nullptr) return;
  for (int64_t i = 0; i < count; ++i) {
    scratch.tile[i] = static_cast<float>(s[i]);
  }
  const int64_t first = std::min(count, sequence.evicted.begin);
  for (const IndexRange& run : {IndexRange{0, first}, {first, count}}) {
    if (run.empty()) continue;
    const int64_t key = sequence.HeldKey(run.begin);
    (*outputs.sink)({sequence.index, row.head, row.query, row.query + 1, key,
                     key + run.end - run.begin, scratch.tile + run.begin,
                     count});
  }
}

// Bytes of one worker's memory, in whole cache lines so that workers share
// none.
int64_t WorkerBytes(const Problem& p, int64_t key_length) {
  constexpr const char* kWhat = "attention scratch";
  const int64_t doubles = CheckedAdd(key_length, p.value_size, kWhat);
  const int64_t bytes =
      CheckedAdd(CheckedMul(doubles, sizeof(double), kWhat),
                 CheckedMul(key_length, sizeof(float), kWhat), kWhat);
  return RoundUp(CheckedAdd(bytes, kScratchAlignment, kWhat),
                 kScratchAlignment);
}

RowScratch ScratchOf(const Problem& p, const KernelRun& run, int worker) {
  const int64_t keys = run.work.key_length;
  double* doubles =
      reinterpret_cast<double*>(run.scratch + worker * WorkerBytes(p, keys));
  return {doubles, doubles + keys,
          reinterpret_cast<float*>(doubles + keys + p.value_size)};
}

}  // namespace

std::string ReferenceRefusal(const KernelRequest&) { return ""; }

KernelNeeds ReferenceNeeds(const KernelRequest& request) {
  return {static_cast<size_t>(
              CheckedMul(WorkerBytes(*request.problem, request.work.key_length),
                         request.threads, "attention scratch")),
          "one row at a time", 1, std::max<int64_t>(1, request.work.key_length),
          SimdTargetName(BuiltSimdTargets().back())};
}

void RunReference(const Problem& p, const Outputs& outputs,
                  const KernelRun& run) {
  const int64_t longest = run.work.query_length;
  const int64_t rows = run.sequences.count * p.query_heads * longest;
  const auto row_task = [&](int64_t task, int worker) {
    const ScopedFloatState float_state;
    const Row row = {
        p.SequenceOf(run.sequences[task / longest / p.query_heads]),
        task / longest % p.query_heads, task % longest};
    if (row.query >= row.sequence.query_length) return;  // of a longer one
    const RowScratch scratch = ScratchOf(p, run, worker);
    if (p.dtype == DType::kF32) {
      ReferenceRow<float>(p, row, scratch, outputs);
    } else {
      ReferenceRow<double>(p, row, scratch, outputs);
    }
  };
  ParallelFor(rows, run.threads, std::cref(row_task));
}

}  // namespace regard::inline v0
