#include "tensor/convert.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "regard/tensor.h"

namespace regard::inline v0 {

float F32FromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t fraction = bits & 0x3FF;
  if (exponent == 31) {
    return std::bit_cast<float>(sign | 0x7F800000 | (fraction << 13));
  }
  if (exponent == 0) {
    // A multiple of the smallest subnormal, 2^-24.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                              (fraction << 13));
}

uint16_t F16FromF32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) {
    return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  }
  // From 65520 on, the nearest is infinity.
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {
    // Subnormal: adding 2^-1 * 2^-24 * 2^24 lets the FPU round to a multiple of
    // 2^-24, which then stands in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000));
  }
  const uint32_t rounded =
      magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

namespace {

// Rounded toward 0, with the last bit set where that is not exact: what is then
// rounded to a much narrower type is rounded as if it came from `value`.
float RoundedToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) {
    return nearest;
  }
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>((away ? bits - 1 : bits) | 1);
}

}  // namespace

uint16_t BF16FromF64(double value) { return BF16FromF32(RoundedToOdd(value)); }

uint16_t F16FromF64(double value) { return F16FromF32(RoundedToOdd(value)); }

namespace {

template <typename T>
double Load(const void* data, int64_t i) {
  return static_cast<double>(static_cast<const T*>(data)[i]);
}

double LoadNumber(const TensorView& view, int64_t i) {
  switch (view.dtype) {
    case DType::kBool:
      return static_cast<const uint8_t*>(view.data)[i] != 0;
    case DType::kU8:
      return Load<uint8_t>(view.data, i);
    case DType::kI8:
      return Load<int8_t>(view.data, i);
    case DType::kU16:
      return Load<uint16_t>(view.data, i);
    case DType::kI16:
      return Load<int16_t>(view.data, i);
    case DType::kU32:
      return Load<uint32_t>(view.data, i);
    case DType::kI32:
      return Load<int32_t>(view.data, i);
    case DType::kU64:
      return Load<uint64_t>(view.data, i);
    case DType::kI64:
      return Load<int64_t>(view.data, i);
    case DType::kF16:
      return F32FromF16(static_cast<const uint16_t*>(view.data)[i]);
    case DType::kBF16:
      return F32FromBF16(static_cast<const uint16_t*>(view.data)[i]);
    case DType::kF32:
      return Load<float>(view.data, i);
    case DType::kF64:
      return Load<double>(view.data, i);
  }
  return 0;
}

void StoreNumber(double value, const MutableTensorView& out, int64_t i) {
  void* data = out.mutable_data();
  switch (out.dtype) {
    case DType::kF64:
      static_cast<double*>(data)[i] = value;
      break;
    case DType::kF32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case DType::kF16:
      static_cast<uint16_t*>(data)[i] = F16FromF64(value);
      break;
    default:
      static_cast<uint16_t*>(data)[i] = BF16FromF64(value);
      break;
  }
}

// Whole checkpoints take this way: through double they take ten times as long.
template <float (*Widen)(uint16_t)>
Tensor Widened(const TensorView& contiguous) {
  Tensor out(DType::kF32, contiguous.shape);
  const uint16_t* const from = static_cast<const uint16_t*>(contiguous.data);
  float* const to = out.AsMutable<float>();
  const int64_t count = out.NumElements();
  for (int64_t i = 0; i < count; ++i) to[i] = Widen(from[i]);
  return out;
}

}  // namespace

Tensor Converted(const TensorView& view, DType dtype) {
  if (view.dtype == dtype) return Tensor::CopyOf(view);
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kF16 &&
      dtype != DType::kBF16) {
    throw Error(ErrorKind::kUnsupported, "Converted",
                std::string("no conversion from ") + Name(view.dtype) + " to " +
                    Name(dtype));
  }
  const Tensor copy = view.IsContiguous() ? Tensor() : Tensor::CopyOf(view);
  const TensorView source = view.IsContiguous() ? view : copy.view();
  if (dtype == DType::kF32 && view.dtype == DType::kBF16) {
    return Widened<F32FromBF16>(source);
  }
  if (dtype == DType::kF32 && view.dtype == DType::kF16) {
    return Widened<F32FromF16>(source);
  }
  Tensor out(dtype, view.shape);
  const MutableTensorView target = out.mutable_view();
  const int64_t count = out.NumElements();
  for (int64_t i = 0; i < count; ++i) {
    StoreNumber(LoadNumber(source, i), target, i);
  }
  return out;
}

}  // namespace regard::inline v0
