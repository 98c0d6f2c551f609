#include "regard/tensor.h"

#include <gtest/gtest.h>

#include <numeric>

namespace regard::inline v0 {
namespace {

std::vector<float> Iota(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(TensorTest, ViewsShareMemory) {
  const Tensor t = Tensor::FromVector(Iota(24), {2, 3, 4});
  const TensorView part = t.view().Select(0, 1).Slice(1, 1, 3);
  EXPECT_EQ(part.shape, (Dims{3, 2}));
  EXPECT_EQ(part.As<float>()[part.strides[0]], 17);
  const Tensor copy = Tensor::CopyOf(part.Transposed(0, 1));
  const float expected[] = {13, 17, 21, 14, 18, 22};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(copy.As<float>()[i], expected[i]);
  EXPECT_EQ(part.Unsqueezed(0).shape, (Dims{1, 3, 2}));
  EXPECT_FALSE(part.IsContiguous());
  EXPECT_TRUE(t.view().Reshaped({6, 4}).IsContiguous());
  const Tensor empty(DType::kF32, {0, 2, 3});
  EXPECT_TRUE(empty.view().IsContiguous());
  EXPECT_EQ(empty.view().Reshaped({2, 3, 0}).shape, (Dims{2, 3, 0}));
}

TEST(TensorTest, NegativeAndZeroStrides) {
  const std::vector<float> values = Iota(4);
  const TensorView reversed(values.data() + 3, DType::kF32, {4}, {-1});
  EXPECT_EQ(Tensor::CopyOf(reversed).As<float>()[0], 3);
  const TensorView repeated(values.data() + 2, DType::kF32, {2, 2}, {0, 0});
  const Tensor copy = Tensor::CopyOf(repeated);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(copy.As<float>()[i], 2);
}

TEST(TensorTest, SizesAreChecked) {
  EXPECT_THROW(NumElements({int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(NumElements({-1}), Error);
  EXPECT_EQ(NumElements({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_THROW(Tensor(DType::kF64, {int64_t{1} << 61}), Error);
  try {
    Tensor(DType::kF32, {int64_t{1} << 50});
    FAIL() << "a petabyte was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
  }
  EXPECT_EQ(Tensor(DType::kF32, {3, 0}).NumElements(), 0);
  EXPECT_EQ(Tensor(DType::kF32, Dims{}).NumElements(), 1);
}

TEST(TensorTest, MistakesAreNamed) {
  const Tensor t(DType::kF32, {2, 3});
  EXPECT_THROW(t.view().Select(2, 0), Error);
  EXPECT_THROW(t.view().Select(0, 2), Error);
  EXPECT_THROW(t.view().Slice(1, 2, 4), Error);
  EXPECT_THROW(t.view().As<double>(), Error);
  EXPECT_THROW(t.view().Transposed(0, 1).Reshaped({6}), Error);
  EXPECT_THROW(t.view().Reshaped({7}), Error);
  EXPECT_THROW(TensorView(nullptr, DType::kF32, {2}, {1, 1}), Error);
  EXPECT_THROW((Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(TensorTest, MemoryIsAligned) {
  for (const int64_t n : {1, 3, 17, 1000}) {
    const Tensor t(DType::kF32, {n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.view().data) % 64, 0u);
  }
}

}  // namespace
}  // namespace regard::inline v0
