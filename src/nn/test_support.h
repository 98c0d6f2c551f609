// What the tests of the modules share.
#ifndef REGARD_SRC_NN_TEST_SUPPORT_H_
#define REGARD_SRC_NN_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "regard/error.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// Normally distributed f32 values.
inline Tensor RandomTensor(const Dims& shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Tensor out(DType::kF32, shape);
  float* const data = out.AsMutable<float>();
  const int64_t count = out.NumElements();
  for (int64_t i = 0; i < count; ++i) data[i] = normal(generator);
  return out;
}

// Equal shapes and bytes (so NaN equals itself).
inline bool SameBits(const TensorView& a, const TensorView& b) {
  const Tensor x = Tensor::CopyOf(a), y = Tensor::CopyOf(b);
  return a.shape == b.shape && a.dtype == b.dtype &&
         std::memcmp(x.view().data, y.view().data, x.ByteSize()) == 0;
}

// Largest difference of two f32 arrays of one shape; infinite when the shapes
// differ or exactly one of two numbers is NaN.
inline double LargestDifference(const TensorView& a, const TensorView& b) {
  if (a.shape != b.shape) return HUGE_VAL;
  const Tensor x = Tensor::CopyOf(a), y = Tensor::CopyOf(b);
  double largest = 0;
  const int64_t count = x.NumElements();
  for (int64_t i = 0; i < count; ++i) {
    const double p = x.As<float>()[i], q = y.As<float>()[i];
    if (std::isnan(p) != std::isnan(q)) return HUGE_VAL;
    if (p != q && !std::isnan(p)) largest = std::max(largest, std::abs(p - q));
  }
  return largest;
}

// The message of the Error of that kind which `call` throws.
template <typename Call>
std::string MessageOf(const Call& call, ErrorKind kind = ErrorKind::kArgument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_TEST_SUPPORT_H_
