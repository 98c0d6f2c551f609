// Values that lie side by side may be read where they are, others are packed:
// the results are the same, bit for bit, whatever the values.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "tests/support/kernels.h"
#include "tests/support/random.h"

namespace regard::inline v0 {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kColumns = 32;  // whole vectors of every instruction set

// Memory that ends where nothing may be read.
class EndOfMemory {
 public:
  explicit EndOfMemory(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t whole = (bytes + page - 1) / page * page;
    size_ = whole + page;
    memory_ =
        static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + whole, page, PROT_NONE);
    at_ = memory_ + whole - bytes;
  }
  ~EndOfMemory() { munmap(memory_, size_); }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  std::byte* at() const { return at_; }

 private:
  std::byte* memory_;
  std::byte* at_;
  size_t size_;
};

struct Shape {
  int64_t heads, kv_heads, queries, keys;
};

// What is special: values that it changes, and what hides keys.
struct Special {
  const char* name;
  std::function<void(Tensor& v)> change;
  Mask mask = Mask::Full();
  bool hide_by_bias = false;  // the third key
};

void SetKey(Tensor& v, int64_t key, float value) {
  const int64_t keys = v.shape()[2];
  for (int64_t h = 0; h < v.shape()[1]; ++h) {
    v.AsMutable<float>()[(h * keys + key) * kColumns + 7] = value;
  }
}

std::vector<Special> Specials() {
  const auto last = [](float value) {
    return [value](Tensor& v) { SetKey(v, v.shape()[2] - 1, value); };
  };
  const auto third = [](float value) {
    return [value](Tensor& v) { SetKey(v, 2, value); };
  };
  const auto zeros = [](Tensor& v) {
    for (int64_t i = 0; i < v.NumElements(); i += 3) {
      v.AsMutable<float>()[i] = 0;
    }
  };
  return {
      {"ordinary", [](Tensor&) {}},
      {"causal", [](Tensor&) {}, Mask::Causal()},
      {"NaN that one row sees", last(kNaN), Mask::Causal()},
      {"infinity that one row sees", last(kInfinity), Mask::Causal()},
      {"infinity that all see", third(-kInfinity)},
      {"NaN hidden by a bias", third(kNaN), Mask::Full(), true},
      {"NaN hidden behind lengths", last(kNaN), Mask::Lengths({13}, {7})},
      {"-0 in a row of one key", [](Tensor& v) { SetKey(v, 0, -0.0f); },
       Mask::Causal()},
      {"zeros", zeros, Mask::Causal()},
      {"a mean whose sum overflows",
       [](Tensor& v) {
         for (int64_t j = 0; j < v.shape()[2]; ++j) SetKey(v, j, 3e38f);
       }},
      {"a window", third(kNaN), Mask::Window(3, 2)},
  };
}

struct Results {
  std::vector<float> out, lse;
};

Results Compute(const AttentionProblem& problem, const KernelOnTarget& kernel,
                int threads) {
  AttentionOptions options = OptionsFor(kernel, threads);
  options.weights = false;
  const AttentionResult result = Attend(problem, options);
  const float* out = result.out.As<float>();
  const float* lse = result.lse.As<float>();
  return {{out, out + result.out.NumElements()},
          {lse, lse + result.lse.NumElements()}};
}

void ExpectSameBits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t bits_a, bits_b;
    std::memcpy(&bits_a, &a[i], sizeof(bits_a));
    std::memcpy(&bits_b, &b[i], sizeof(bits_b));
    if (a[i] != a[i] && b[i] != b[i]) continue;
    ASSERT_EQ(bits_a, bits_b)
        << "element " << i << ": " << a[i] << ", " << b[i];
  }
}

class ValuesInPlaceTest : public testing::TestWithParam<KernelOnTarget> {};

TEST_P(ValuesInPlaceTest, AreAsPackedOnes) {
  Random random(5);
  const KernelOnTarget flash = GetParam();
  for (const Shape& shape :
       {Shape{2, 2, 13, 13}, Shape{4, 2, 40, 577}, Shape{1, 1, 150, 33}}) {
    for (const Special& special : Specials()) {
      SCOPED_TRACE(std::string(special.name) + ", " +
                   std::to_string(shape.queries) + " queries");
      const Tensor q =
          random.Numbers({1, shape.heads, shape.queries, kColumns});
      const Tensor k =
          random.Numbers({1, shape.kv_heads, shape.keys, kColumns});
      Tensor v = random.Numbers({1, shape.kv_heads, shape.keys, kColumns});
      special.change(v);
      Tensor bias(DType::kF32, {1, 1, 1, shape.keys});
      bias.AsMutable<float>()[2] = -kInfinity;

      const int64_t count = v.NumElements();
      const size_t bytes = static_cast<size_t>(count) * sizeof(float);
      const EndOfMemory memory(bytes);
      std::memcpy(memory.at(), v.As<float>(), bytes);
      std::vector<float> apart(static_cast<size_t>(2 * count), kNaN);
      for (int64_t i = 0; i < count; ++i) {
        apart[static_cast<size_t>(2 * i)] = v.As<float>()[i];
      }

      AttentionProblem problem;
      problem.q = q;
      problem.k = k;
      problem.mask = special.mask;
      problem.query_offset = QueryOffset::TopLeft();
      if (special.hide_by_bias) problem.bias = bias;
      problem.v = TensorView(memory.at(), DType::kF32, v.shape());
      const Results in_place = Compute(problem, flash, 1);
      const Results of_threads = Compute(problem, flash, 3);
      const int64_t row = 2 * kColumns;
      problem.v = TensorView(
          apart.data(), DType::kF32, v.shape(),
          {shape.kv_heads * shape.keys * row, shape.keys * row, row, 2});
      const Results packed = Compute(problem, flash, 1);
      ExpectSameBits(in_place.out, packed.out);
      ExpectSameBits(in_place.lse, packed.lse);
      ExpectSameBits(of_threads.out, packed.out);
    }
  }
}

std::vector<KernelOnTarget> FlashKernels() {
  std::vector<KernelOnTarget> found;
  for (const KernelOnTarget& one : AllKernels()) {
    if (one.kernel == "flash") found.push_back(one);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Kernels, ValuesInPlaceTest,
                         testing::ValuesIn(FlashKernels()),
                         [](const testing::TestParamInfo<KernelOnTarget>& one) {
                           return one.param.Name();
                         });

}  // namespace
}  // namespace regard::inline v0
