// Scalar conversions of the 16-bit floating types, round to nearest even, NaN
// kept NaN.
#ifndef REGARD_SRC_TENSOR_CONVERT_H_
#define REGARD_SRC_TENSOR_CONVERT_H_

#include <bit>
#include <cstdint>

namespace regard::inline v0 {

inline float F32FromBF16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Without a branch, so that loops over it become vector code.
inline uint16_t BF16FromF32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  // Rounding could carry a NaN's payload into infinity: keep it quiet instead.
  const uint32_t nan = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? nan
                                                                : rounded);
}

float F32FromF16(uint16_t bits);
uint16_t F16FromF32(float value);
// Rounded once, not to f32 first.
uint16_t BF16FromF64(double value);
uint16_t F16FromF64(double value);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TENSOR_CONVERT_H_
