#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "attention/array_check.h"
#include "attention/overlap.h"
#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"
#include "regard/attention.h"

namespace regard::inline v0 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Output elements that are summed at a time: 2 KiB of sums, which stay in the
// first cache beside the parts' rows.
constexpr int64_t kChunk = 256;

// An element of a part costs about a nanosecond, waking a thread some 50 µs.
constexpr int64_t kElementsPerTask = 1 << 16;

using Parts = std::span<const PartialAttention>;

void CheckOverlaps(const ArrayChecker& check, Parts parts,
                   const TensorView& written, const char* name) {
  constexpr const char* kHint = "give it memory of its own";
  if (MayOverlapItself(written)) {
    check.Fail(name, "shares memory with itself", kHint);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (MayOverlap(written, parts[i].out) ||
        MayOverlap(written, parts[i].lse)) {
      check.Fail(name, "shares memory with parts[" + std::to_string(i) + "]",
                 kHint);
    }
  }
}

void CheckMerge(Parts parts, const MutableTensorView& out,
                const MutableTensorView& lse) {
  static const std::string kFunction = "MergeAttention";
  const ArrayChecker check(kFunction);
  if (out.rank() != 4) {
    check.Fail("out",
               "shape " + ToString(out.shape) + " has rank " +
                   std::to_string(out.rank()),
               "give [B, Hq, Lq, Dv]");
  }
  check.Floating(out, "out");
  check.Memory(out, "out");
  const Dims rows = {out.shape[0], out.shape[1], out.shape[2]};
  const auto array = [&](const TensorView& view, const ArgumentName& name,
                         const Dims& shape, const char* letters) {
    check.Shape(view, name, shape, letters);
    if (view.dtype != out.dtype) {
      check.Fail(name, std::string("type ") + Name(view.dtype) +
                           " beside out of " + Name(out.dtype));
    }
    check.Memory(view, name);
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    array(parts[i].out, {"parts", i, "out"}, out.shape, "[B, Hq, Lq, Dv]");
    array(parts[i].lse, {"parts", i, "lse"}, rows, "[B, Hq, Lq]");
  }
  CheckOverlaps(check, parts, out, "out");
  if (!lse.given()) return;
  array(lse, "lse", rows, "[B, Hq, Lq]");
  CheckOverlaps(check, parts, lse, "lse");
  if (MayOverlap(out, lse)) check.Fail("lse", "shares memory with out");
}

// One query of one head.
struct Row {
  int64_t batch, head, query;

  int64_t OffsetIn(const TensorView& view) const {
    return batch * view.strides[0] + head * view.strides[1] +
           query * view.strides[2];
  }
};

template <typename T>
double LseOf(const PartialAttention& part, const Row& row) {
  return static_cast<double>(part.lse.As<T>()[row.OffsetIn(part.lse)]);
}

// out[first + e] = sum over parts of e^(lse_p - max) / sum * out_p[first + e],
// for `count` <= kChunk elements. Empty parts are not read.
template <typename T>
void MergeChunk(Parts parts, const Row& row, double max, double sum,
                int64_t first, int64_t count, T* out, int64_t stride) {
  double sums[kChunk];
  std::fill(sums, sums + count, sum == 0 ? 0.0 : -0.0);  // -0 + x is x
  for (const PartialAttention& part : parts) {
    const double lse = LseOf<T>(part, row);
    if (lse == -kInfinity) continue;
    const double factor = std::exp(lse - max) / sum;
    const int64_t step = part.out.strides[3];
    const T* from = part.out.As<T>() + row.OffsetIn(part.out) + first * step;
    for (int64_t e = 0; e < count; ++e) {
      sums[e] += factor * static_cast<double>(from[e * step]);
    }
  }
  for (int64_t e = 0; e < count; ++e) out[e * stride] = static_cast<T>(sums[e]);
}

template <typename T>
void MergeRow(Parts parts, const MutableTensorView& out,
              const MutableTensorView& lse, const Row& row) {
  // 1. The largest LSE. NaN never wins: it shows in the sum, and so does
  // +infinity.
  double max = -kInfinity;
  for (const PartialAttention& part : parts) {
    max = std::max(max, LseOf<T>(part, row));
  }

  // 2. The sum of all weights, relative to e^max; 0 for an empty row.
  double sum = 0;
  for (const PartialAttention& part : parts) {
    const double part_lse = LseOf<T>(part, row);
    if (part_lse != -kInfinity) sum += std::exp(part_lse - max);
  }

  // 3. The row of each part by its share of that sum.
  const int64_t size = out.shape[3], step = out.strides[3];
  T* to = out.AsMutable<T>() + row.OffsetIn(out);
  for (int64_t first = 0; first < size; first += kChunk) {
    MergeChunk<T>(parts, row, max, sum, first, std::min(kChunk, size - first),
                  to + first * step, step);
  }
  if (lse.given()) {
    lse.AsMutable<T>()[row.OffsetIn(lse)] =
        static_cast<T>(sum == 0 ? -kInfinity : max + std::log(sum));
  }
}

}  // namespace

void MergeAttention(std::span<const PartialAttention> parts,
                    const MutableTensorView& out, const MutableTensorView& lse,
                    int threads) {
  const ScopedFloatState float_state;
  CheckThreads(threads, "MergeAttention: threads");
  CheckMerge(parts, out, lse);
  if (out.NumElements() == 0 && (!lse.given() || lse.NumElements() == 0)) {
    return;
  }
  const int64_t heads = out.shape[1], queries = out.shape[2];
  const int64_t rows = out.shape[0] * heads * queries;
  // A task is a number of rows; a row's bits don't depend on it.
  const double row_elements = static_cast<double>(parts.size() + 1) *
                              static_cast<double>(out.shape[3] + 1);
  const int64_t rows_per_task = std::max<int64_t>(
      1, static_cast<int64_t>(kElementsPerTask / row_elements));
  const auto task = [&](int64_t index, int) {
    const ScopedFloatState task_float_state;
    const int64_t begin = index * rows_per_task;
    const int64_t end = std::min(rows, begin + rows_per_task);
    for (int64_t i = begin; i < end; ++i) {
      const Row row = {i / queries / heads, i / queries % heads, i % queries};
      if (out.dtype == DType::kF32) {
        MergeRow<float>(parts, out, lse, row);
      } else {
        MergeRow<double>(parts, out, lse, row);
      }
    }
  };
  ParallelFor(CeilDiv(rows, rows_per_task), threads, std::cref(task));
}

AttentionResult MergeAttention(std::span<const PartialAttention> parts,
                               int threads) {
  if (parts.empty()) {
    throw Error(ErrorKind::kArgument, "MergeAttention: parts",
                "no part tells the shape of the result",
                "give one, or the arrays to write");
  }
  const TensorView& first = parts[0].out;
  AttentionResult result;
  result.out = Tensor(first.dtype, first.shape);
  result.lse = Tensor(parts[0].lse.dtype, parts[0].lse.shape);
  MergeAttention(parts, result.out.mutable_view(), result.lse.mutable_view(),
                 threads);
  return result;
}

}  // namespace regard::inline v0
