#include "bench/work.h"

#include <cstring>

namespace regard::inline v0 {

namespace {

// Uniform with variance 1: scores then are nearly normal.
Tensor Noise(DType dtype, const Dims& shape, uint64_t seed) {
  constexpr float kHalfWidth = 1.7320508f;  // sqrt(3)
  Tensor tensor(DType::kF32, shape);
  float* values = tensor.AsMutable<float>();
  const int64_t count = tensor.NumElements();
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t i = 0; i < count; ++i) {
    // xorshift64 (Marsaglia 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto bits = static_cast<int32_t>(state >> 32);
    values[i] = static_cast<float>(bits) * (kHalfWidth / 2147483648.0f);
  }
  return dtype == DType::kF32 ? std::move(tensor) : Converted(tensor, dtype);
}

WorkParts PartsOf(const BenchRow& row) {
  WorkParts parts;
  FindWork(row.work).add(row, parts);
  return parts;
}

ByteSpan BytesOf(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.view().data), tensor.ByteSize()};
}

}  // namespace

double UsefulOperations(const BenchRow& row) {
  constexpr double kPerColumn = 2 * 2;  // scores and outputs, multiply and add
  return FindWork(row.work).pairs(row) * kPerColumn *
         static_cast<double>(row.d * row.hq);
}

Work::Work(const BenchRow& row)
    : row_(row),
      operations_(UsefulOperations(row)),
      parts_(PartsOf(row)),
      q_(Noise(row.dtype, {1, row.hq, row.lq, row.d}, 1)),
      k_(Noise(row.dtype, KeyShape(row, parts_), 2)),
      v_(Noise(row.dtype, KeyShape(row, parts_), 3)),
      out_(row.dtype, {1, row.hq, row.lq, row.d}),
      streams_{BytesOf(k_), BytesOf(v_)} {
  parts_.problem.q = q_;
  parts_.problem.k = KeyView(k_, parts_);
  parts_.problem.v = KeyView(v_, parts_);
  // Zeroed memory is real only once it has been written to.
  std::memset(out_.mutable_view().mutable_data(), 1, out_.ByteSize());
  outputs_.out = out_.mutable_view();
}

void Work::Plan() {
  AttentionOptions options;
  options.threads = row_.threads;
  options.instruction_set = row_.instruction_set;
  plan_ = std::make_unique<AttentionPlan>(parts_.problem, options);
}

int64_t Work::array_bytes() const {
  return static_cast<int64_t>(q_.ByteSize() + k_.ByteSize() + v_.ByteSize() +
                              out_.ByteSize());
}

double Work::stream_bytes() const {
  double bytes = 0;
  for (const ByteSpan stream : streams_) {
    bytes += static_cast<double>(stream.size());
  }
  return bytes;
}

}  // namespace regard::inline v0
