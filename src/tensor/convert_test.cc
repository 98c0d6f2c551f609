#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "regard/tensor.h"

namespace regard::inline v0 {
namespace {

// Nearest of all 65,536 values, found by trying them: the definition.
uint16_t NearestByDefinition(float value, float (*widen)(uint16_t)) {
  uint16_t best = 0;
  double best_distance = HUGE_VAL;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float candidate = widen(static_cast<uint16_t>(bits));
    if (!std::isfinite(candidate)) continue;
    const double distance =
        std::abs(static_cast<double>(candidate) - static_cast<double>(value));
    const bool even = (bits & 1) == 0;
    if (distance < best_distance || (distance == best_distance && even)) {
      best = static_cast<uint16_t>(bits);
      best_distance = distance;
    }
  }
  return best;
}

TEST(ConvertTest, EveryHalfAndBrainFloatComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float wide = F32FromF16(half);
    const float brain = F32FromBF16(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(F32FromF16(F16FromF32(wide))));
    } else {
      EXPECT_EQ(F16FromF32(wide), half);
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(F32FromBF16(BF16FromF32(brain))));
    } else {
      EXPECT_EQ(BF16FromF32(brain), half);
    }
  }
}

// Just above a tie that f32 can't tell from it.
TEST(ConvertTest, DoublesAreRoundedOnce) {
  for (const double sign : {1.0, -1.0}) {
    const uint16_t minus = sign < 0 ? 0x8000 : 0;
    for (const double off : {0.0, 0x1p-40, -0x1p-40}) {
      const auto expected = [&](int even) {
        return static_cast<uint16_t>(minus + even + (off > 0));
      };
      EXPECT_EQ(BF16FromF64(sign * (1 + 0x1p-8 + off)), expected(0x3F80));
      EXPECT_EQ(F16FromF64(sign * (1 + 0x1p-11 + off)), expected(0x3C00));
      EXPECT_EQ(F16FromF64(sign * (1 + off) * 0x1p-25), expected(0));
      EXPECT_EQ(BF16FromF64(sign * (1 + off) * 0x1p-134), expected(0));
    }
    EXPECT_EQ(F16FromF64(sign * 65520), minus + 0x7C00);
    EXPECT_EQ(F16FromF64(sign * (65520 - 0x1p-30)), minus + 0x7BFF);
    EXPECT_EQ(BF16FromF64(sign * 1e300), minus + 0x7F80);
    EXPECT_EQ(F16FromF64(sign * HUGE_VAL), minus + 0x7C00);
  }
  EXPECT_TRUE(std::isnan(F32FromBF16(BF16FromF64(std::nan("")))));
  const double values[] = {1 + 0x1p-8 + 0x1p-40};
  const Tensor narrow = Converted(TensorView(values, {1}), DType::kBF16);
  EXPECT_EQ(static_cast<const uint16_t*>(narrow.view().data)[0], 0x3F81);
}

TEST(ConvertTest, RoundsToNearestEven) {
  for (const float value :
       {1e-8f, 2.9802322e-8f, 8.9406967e-8f, 1e-5f, 6.1e-5f, 6.1035156e-5f,
        0.1f, 1.0009765f, 1.00048828125f, 1.00146484375f, 3.14159f, 65503.9f}) {
    EXPECT_EQ(F32FromF16(F16FromF32(value)),
              F32FromF16(NearestByDefinition(value, F32FromF16)))
        << value;
    EXPECT_EQ(F32FromBF16(BF16FromF32(value)),
              F32FromBF16(NearestByDefinition(value, F32FromBF16)))
        << value;
  }
  EXPECT_EQ(BF16FromF32(std::bit_cast<float>(0x3E89CCD5u)), 0x3E8A);
  EXPECT_TRUE(
      std::isnan(F32FromBF16(BF16FromF32(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_EQ(F16FromF32(65519.0f), 0x7BFF);
  EXPECT_EQ(F16FromF32(65520.0f), 0x7C00);
  EXPECT_EQ(F16FromF32(-HUGE_VALF), 0xFC00);
}

TEST(ConvertTest, WholeArraysOfAnyStride) {
  const int64_t values[] = {1, 2, 3, 4, 5, 6};
  const TensorView columns = TensorView(values, {2, 3}).Transposed(0, 1);
  const Tensor out = Converted(columns, DType::kF32);
  const float expected[] = {1, 4, 2, 5, 3, 6};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out.As<float>()[i], expected[i]);
  EXPECT_THROW(Converted(columns, DType::kI32), Error);
}

// Whole arrays take another way than single numbers.
TEST(ConvertTest, SixteenBitArraysOfAnyStrides) {
  uint16_t bits[6] = {0x3F80, 0x7FC0, 0x0001, 0x8000, 0xFF80, 0x3555};
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const TensorView rows(bits, dtype, {2, 3});
    for (const TensorView& view : {rows, rows.Transposed(0, 1)}) {
      const Tensor same = Tensor::CopyOf(view);
      const Tensor out = Converted(view, DType::kF32);
      ASSERT_EQ(out.shape(), view.shape);
      for (int i = 0; i < 6; ++i) {
        const uint16_t one = static_cast<const uint16_t*>(same.view().data)[i];
        const float wanted =
            dtype == DType::kBF16 ? F32FromBF16(one) : F32FromF16(one);
        EXPECT_EQ(std::bit_cast<uint32_t>(out.As<float>()[i]),
                  std::bit_cast<uint32_t>(wanted));
      }
    }
  }
}

}  // namespace
}  // namespace regard::inline v0
