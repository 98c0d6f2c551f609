#include "attention/score/alibi.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "regard/attention.h"

namespace regard::inline v0 {

template <typename T>
void LoadAlibi(double slope, int64_t position, int64_t key_begin, int64_t count,
               T* out) {
  constexpr double kLimit = static_cast<double>(std::numeric_limits<T>::max());
  const double at = static_cast<double>(position);
  const double first = static_cast<double>(key_begin);
  // A counter of 32 bits: its conversion is vector code.
  const int32_t keys = static_cast<int32_t>(count);
  for (int32_t i = 0; i < keys; ++i) {
    const double distance = std::fabs(at - (first + static_cast<double>(i)));
    const double bias = -slope * distance;
    out[i] = static_cast<T>(std::min(std::max(bias, -kLimit), kLimit));
  }
}

template void LoadAlibi(double, int64_t, int64_t, int64_t, float*);
template void LoadAlibi(double, int64_t, int64_t, int64_t, double*);

Tensor AlibiSlopes(int64_t heads) {
  if (heads < 0) {
    throw Error(ErrorKind::kArgument, "AlibiSlopes: heads",
                std::to_string(heads) + " is negative");
  }
  Tensor slopes(DType::kF64, {heads});
  double* slope = slopes.AsMutable<double>();
  const int64_t power =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  for (int64_t h = 0; h < heads; ++h) {
    // Of the next power, 2 * power, every second one from the first on.
    const double step = h < power ? static_cast<double>(h + 1)
                                  : static_cast<double>(h - power) + 0.5;
    slope[h] = std::exp2(-8 * step / static_cast<double>(power));
  }
  return slopes;
}

}  // namespace regard::inline v0
