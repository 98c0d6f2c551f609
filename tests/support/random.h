// The same numbers on every machine.
#ifndef REGARD_TESTS_SUPPORT_RANDOM_H_
#define REGARD_TESTS_SUPPORT_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "regard/tensor.h"

namespace regard::inline v0 {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // In [0, n).
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n));
  }
  // One time of n.
  bool Chance(int64_t n) { return Below(n) == 0; }
  template <size_t n>
  int64_t Of(const int64_t (&list)[n]) {
    return list[static_cast<size_t>(Below(n))];
  }
  // A float near the normal distribution (a sum of four uniforms).
  double Normal() {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(Below(1 << 20));
    return static_cast<double>(
        static_cast<float>((sum / (1 << 20) - 2) * 1.7320508));
  }
  // Numbers in [-2, 2) that bf16 and f16 hold, too.
  Tensor Numbers(const Dims& shape) {
    Tensor tensor(DType::kF32, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      tensor.AsMutable<float>()[i] = static_cast<float>(Below(256) - 128) / 64;
    }
    return tensor;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_RANDOM_H_
