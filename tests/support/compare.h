// Comparing arrays in tests, without a blind spot for NaN.
#ifndef REGARD_TESTS_SUPPORT_COMPARE_H_
#define REGARD_TESTS_SUPPORT_COMPARE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "regard/tensor.h"

namespace regard::inline v0 {

// The difference of two numbers as a test has to see it: NaN agrees with NaN
// only, an infinity with the same infinity only; everything else that isn't
// finite differs without bound.
inline double Distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) {
    return std::numeric_limits<double>::infinity();
  }
  return std::fabs(a - b);
}

struct LargestDistance {
  double value = 0;
  int64_t index = -1;  // in row-major order
  double actual = 0, expected = 0;
};

// Both arrays f32 or f64, of equal shape.
inline LargestDistance Compare(const TensorView& actual,
                               const TensorView& expected) {
  const Tensor a = Converted(actual, DType::kF64);
  const Tensor e = Converted(expected, DType::kF64);
  LargestDistance largest;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const double x = a.As<double>()[i], y = e.As<double>()[i];
    const double distance = Distance(x, y);
    if (distance > largest.value) largest = {distance, i, x, y};
  }
  return largest;
}

inline testing::AssertionResult AllWithin(const TensorView& actual,
                                          const TensorView& expected,
                                          double tolerance) {
  if (actual.shape != expected.shape) {
    return testing::AssertionFailure()
           << "shape " << ToString(actual.shape) << " is not "
           << ToString(expected.shape);
  }
  const LargestDistance largest = Compare(actual, expected);
  if (largest.value <= tolerance) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "element " << largest.index << " of " << ToString(actual.shape)
         << " is " << largest.actual << ", not " << largest.expected
         << "; the difference " << largest.value << " is above " << tolerance;
}

// Equal shapes, types and bits.
inline testing::AssertionResult SameBits(const TensorView& actual,
                                         const TensorView& expected) {
  if (actual.shape != expected.shape || actual.dtype != expected.dtype) {
    return testing::AssertionFailure()
           << Name(actual.dtype) << ToString(actual.shape) << " is not "
           << Name(expected.dtype) << ToString(expected.shape);
  }
  const Tensor a = Tensor::CopyOf(actual);
  const Tensor e = Tensor::CopyOf(expected);
  const char* x = static_cast<const char*>(a.view().data);
  const char* y = static_cast<const char*>(e.view().data);
  const size_t item = ItemSize(a.dtype());
  const size_t bytes = static_cast<size_t>(a.NumElements()) * item;
  if (bytes == 0 || std::memcmp(x, y, bytes) == 0) {
    return testing::AssertionSuccess();
  }
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const size_t at = static_cast<size_t>(i) * item;
    if (std::memcmp(x + at, y + at, item) != 0) {
      return testing::AssertionFailure()
             << "element " << i << " of " << ToString(actual.shape)
             << " differs in its bits; the largest distance is "
             << Compare(actual, expected).value;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_COMPARE_H_
