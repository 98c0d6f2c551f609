#include "attention/output_row.h"

#include "tensor/convert.h"

namespace regard::inline v0 {

namespace {

uint16_t BF16From(float x) { return BF16FromF32(x); }
uint16_t BF16From(double x) { return BF16FromF64(x); }
uint16_t F16From(float x) { return F16FromF32(x); }
uint16_t F16From(double x) { return F16FromF64(x); }

template <typename T, typename Stored, typename Convert>
void StoreAs(const MutableTensorView& to, const OutputRow& row, const T* values,
             Convert convert) {
  Stored* at = static_cast<Stored*>(to.mutable_data()) + row.Offset(to);
  for (int64_t e = 0; e < to.shape[3]; ++e) {
    at[e * to.strides[3]] = convert(values[e]);
  }
}

}  // namespace

template <typename T>
void StoreOutRow(const MutableTensorView& to, const OutputRow& row,
                 const T* values) {
  switch (to.dtype) {
    case DType::kF64:
      return StoreAs<T, double>(to, row, values,
                                [](T x) { return static_cast<double>(x); });
    case DType::kBF16:
      return StoreAs<T, uint16_t>(to, row, values,
                                  [](T x) { return BF16From(x); });
    case DType::kF16:
      return StoreAs<T, uint16_t>(to, row, values,
                                  [](T x) { return F16From(x); });
    default:
      return StoreAs<T, float>(to, row, values,
                               [](T x) { return static_cast<float>(x); });
  }
}

template void StoreOutRow(const MutableTensorView&, const OutputRow&,
                          const float*);
template void StoreOutRow(const MutableTensorView&, const OutputRow&,
                          const double*);

}  // namespace regard::inline v0
