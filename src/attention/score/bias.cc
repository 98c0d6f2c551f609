#include "attention/score/bias.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "attention/score/broadcast.h"
#include "tensor/convert.h"

namespace regard::inline v0 {

namespace {

template <typename T>
T Narrowed(double value) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr double kLimit = std::numeric_limits<float>::max();
    if (std::isfinite(value)) value = std::clamp(value, -kLimit, kLimit);
  }
  return static_cast<T>(value);
}

template <typename T, typename Stored, typename Convert>
void LoadAs(const void* data, BroadcastRow row, int64_t key_begin,
            int64_t count, T* out, Convert convert) {
  const Stored* from =
      static_cast<const Stored*>(data) + row.offset + key_begin * row.stride;
  for (int64_t i = 0; i < count; ++i) out[i] = convert(from[i * row.stride]);
}

}  // namespace

template <typename T>
void LoadBias(const TensorView& bias, int64_t batch, int64_t head,
              int64_t query, int64_t key_begin, int64_t count, T* out) {
  const BroadcastRow row = RowOf(bias, batch, head, query);
  switch (bias.dtype) {
    case DType::kF64:
      LoadAs<T, double>(bias.data, row, key_begin, count, out, Narrowed<T>);
      break;
    case DType::kBF16:
      LoadAs<T, uint16_t>(bias.data, row, key_begin, count, out, F32FromBF16);
      break;
    case DType::kF16:
      LoadAs<T, uint16_t>(bias.data, row, key_begin, count, out, F32FromF16);
      break;
    default:
      LoadAs<T, float>(bias.data, row, key_begin, count, out,
                       [](float value) { return static_cast<T>(value); });
      break;
  }
}

template void LoadBias(const TensorView&, int64_t, int64_t, int64_t, int64_t,
                       int64_t, float*);
template void LoadBias(const TensorView&, int64_t, int64_t, int64_t, int64_t,
                       int64_t, double*);

}  // namespace regard::inline v0
