#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "regard/lens.h"

namespace regard::inline v0 {
namespace {

// The larger one, NaN when one is (std::max depends on the order there).
float MaxKeepingNaN(float a, float b) {
  if (std::isnan(a)) return a;
  return std::isnan(b) || b > a ? b : a;
}

}  // namespace

PooledMap MaxPooled(const TensorView& map, int64_t max_rows,
                    int64_t max_columns) {
  if (map.rank() != 2 || max_rows < 1 || max_columns < 1) {
    throw Error(ErrorKind::kArgument, "MaxPooled",
                "needs a map of rank 2 and limits of at least 1, got " +
                    ToString(map.shape) + ", " + std::to_string(max_rows) +
                    " and " + std::to_string(max_columns));
  }
  const float* in = map.As<float>();
  const int64_t rows = map.shape[0], columns = map.shape[1];
  PooledMap pooled;
  pooled.block = std::max(
      {int64_t{1}, CeilDiv(rows, max_rows), CeilDiv(columns, max_columns)});
  const int64_t b = pooled.block, width = CeilDiv(columns, b);
  pooled.values = Tensor(DType::kF32, {CeilDiv(rows, b), width});
  float* out = pooled.values.AsMutable<float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const float value = in[i * map.strides[0] + j * map.strides[1]];
      float& cell = out[(i / b) * width + j / b];
      const bool first = i % b == 0 && j % b == 0;
      cell = first ? value : MaxKeepingNaN(cell, value);
    }
  }
  return pooled;
}

}  // namespace regard::inline v0
