#include "attention/kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "attention/score/alibi.h"
#include "attention/score/bias.h"
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

// One query of one head: row (batch, head, query) of the scores.
struct Row {
  int64_t batch, head, query;
};

// A worker's memory: the row of scores and then weights [Lk], a row of the
// output [Dv], and a row for a sink [Lk].
struct RowScratch {
  double* scores;
  double* out;
  float* tile;
};

// Element (b, h, i, d) of an array [B, H, L, D].
template <typename T>
const T* At(const TensorView& view, int64_t b, int64_t h, int64_t i,
            int64_t d) {
  return view.As<T>() + b * view.strides[0] + h * view.strides[1] +
         i * view.strides[2] + d * view.strides[3];
}

template <typename T>
void Store(const MutableTensorView& view, const Row& row, int64_t i,
           double value) {
  *const_cast<T*>(At<T>(view, row.batch, row.head, row.query, i)) =
      static_cast<T>(value);
}

// scale * q . k_j, softcap, + bias, + ALiBi; a bias of -infinity hides the key.
// `position` is the query's.
template <typename T>
double Score(const Problem& p, const Row& row, int64_t position, int64_t j) {
  double bias = 0;
  if (p.bias.given()) {
    LoadBias(p.bias, row.batch, row.head, row.query, j, 1, &bias);
  }
  if (bias == -kInfinity) return bias;
  const int64_t kv_head = row.head / p.group();
  double dot = 0;
  for (int64_t begin = 0; begin < p.head_size; begin += kPiece) {
    double piece = 0;
    for (int64_t d = begin; d < std::min(begin + kPiece, p.head_size); ++d) {
      const T* q = At<T>(p.q, row.batch, row.head, row.query, d);
      const T* k = At<T>(p.k, row.batch, kv_head, j, d);
      piece += static_cast<double>(*q) * static_cast<double>(*k);
    }
    dot += piece;
  }
  double alibi = 0;
  if (p.alibi_slopes.given()) {
    LoadAlibi(HeadNumber(p.alibi_slopes, row.head), position, j, 1, &alibi);
  }
  return Softcap(p.scale * dot, p.softcap) + bias + alibi;
}

// The executable specification. A score of -infinity stands for a hidden key,
// and a hidden key's k and v are never read.
template <typename T>
void ReferenceRow(const Problem& p, const Row& row, const RowScratch& scratch,
                  const Outputs& outputs) {
  double* s = scratch.scores;  // [Lk]

  // 1. Scores, where the mask allows them.
  const MaskSet mask = p.MaskOf(row.batch, row.head);
  const int64_t position = SaturatingAdd(row.query, mask.frame().offset);
  for (int64_t j = 0; j < p.key_length; ++j) {
    s[j] =
        mask.Allows(row.query, j) ? Score<T>(p, row, position, j) : -kInfinity;
  }

  // 2. Their maximum. NaN never wins: it shows in the sum.
  double max = -kInfinity;
  for (int64_t j = 0; j < p.key_length; ++j) {
    if (s[j] > max) max = s[j];
  }

  // 3. Numerators of the softmax, and their sum.
  double sum = 0;
  for (int64_t j = 0; j < p.key_length; ++j) {
    if (s[j] != -kInfinity) sum += std::exp(s[j] - max);
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
  const int64_t kv_head = row.head / p.group();
  for (int64_t j = 0; j < p.key_length; ++j) {
    const bool hidden = s[j] == -kInfinity;
    s[j] = hidden ? 0 : std::exp(s[j] - max) / sum * share;
    if (hidden) continue;

    // 5. Output: sum of weight times value.
    for (int64_t e = 0; e < p.value_size; ++e) {
      const T* v = At<T>(p.v, row.batch, kv_head, j, e);
      out[e] += s[j] * static_cast<double>(*v);
    }
  }

  // 6. Rounded to the type of the problem, once.
  if (outputs.out.given()) {
    for (int64_t e = 0; e < p.value_size; ++e) {
      Store<T>(outputs.out, row, e, out[e]);
    }
  }
  if (outputs.lse.given()) {
    const Dims& strides = outputs.lse.strides;
    outputs.lse.AsMutable<T>()[row.batch * strides[0] + row.head * strides[1] +
                               row.query * strides[2]] = static_cast<T>(lse);
  }
  if (outputs.weights.given()) {
    for (int64_t j = 0; j < p.key_length; ++j) {
      Store<T>(outputs.weights, row, j, s[j]);
    }
  }
  if (outputs.sink != nullptr && p.key_length > 0) {
    for (int64_t j = 0; j < p.key_length; ++j) {
      scratch.tile[j] = static_cast<float>(s[j]);
    }
    (*outputs.sink)({row.batch, row.head, row.query, row.query + 1, 0,
                     p.key_length, scratch.tile, p.key_length});
  }
}

// Bytes of one worker's memory, in whole cache lines so that workers share
// none.
int64_t WorkerBytes(const Problem& p) {
  constexpr const char* kWhat = "attention scratch";
  const int64_t doubles = CheckedAdd(p.key_length, p.value_size, kWhat);
  const int64_t bytes =
      CheckedAdd(CheckedMul(doubles, sizeof(double), kWhat),
                 CheckedMul(p.key_length, sizeof(float), kWhat), kWhat);
  return RoundUp(CheckedAdd(bytes, kScratchAlignment, kWhat),
                 kScratchAlignment);
}

RowScratch ScratchOf(const Problem& p, std::byte* memory, int worker) {
  double* doubles = reinterpret_cast<double*>(memory + worker * WorkerBytes(p));
  return {doubles, doubles + p.key_length,
          reinterpret_cast<float*>(doubles + p.key_length + p.value_size)};
}

}  // namespace

std::string ReferenceRefusal(const KernelRequest&) { return ""; }

KernelNeeds ReferenceNeeds(const KernelRequest& request) {
  return {static_cast<size_t>(CheckedMul(WorkerBytes(*request.problem),
                                         request.threads, "attention scratch")),
          "one row at a time", SimdTargetName(BuiltSimdTargets().back())};
}

void RunReference(const Problem& p, const Outputs& outputs,
                  const KernelRun& run) {
  const int64_t rows = p.batch * p.query_heads * p.query_length;
  const auto row_task = [&](int64_t task, int worker) {
    const ScopedFloatState float_state;
    const Row row = {task / p.query_length / p.query_heads,
                     task / p.query_length % p.query_heads,
                     task % p.query_length};
    const RowScratch scratch = ScratchOf(p, run.scratch, worker);
    if (p.dtype == DType::kF32) {
      ReferenceRow<float>(p, row, scratch, outputs);
    } else {
      ReferenceRow<double>(p, row, scratch, outputs);
    }
  };
  ParallelFor(rows, run.threads, std::cref(row_task));
}

}  // namespace regard::inline v0
