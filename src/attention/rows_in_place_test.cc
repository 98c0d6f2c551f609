// Values that lie side by side may be read where they are, and keys packed by
// the strip that multiplies them first; others are packed before: the results
// are the same, bit for bit, whatever the values.
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

// A copy that ends where nothing may be read.
class EndOfMemory {
 public:
  explicit EndOfMemory(const Tensor& x) : shape_(x.shape()) {
    const size_t bytes = static_cast<size_t>(x.NumElements()) * sizeof(float);
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t whole = (bytes + page - 1) / page * page;
    size_ = whole + page;
    memory_ =
        static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + whole, page, PROT_NONE);
    at_ = memory_ + whole - bytes;
    std::memcpy(at_, x.As<float>(), bytes);
  }
  ~EndOfMemory() { munmap(memory_, size_); }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  TensorView view() const { return {at_, DType::kF32, shape_}; }

 private:
  Dims shape_;
  std::byte* memory_;
  std::byte* at_;
  size_t size_;
};

// A copy with NaN between the elements.
class ElementsApart {
 public:
  explicit ElementsApart(const Tensor& x)
      : shape_(x.shape()),
        elements_(static_cast<size_t>(2 * x.NumElements()), kNaN) {
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      elements_[static_cast<size_t>(2 * i)] = x.As<float>()[i];
    }
  }
  TensorView view() const {
    const int64_t row = 2 * shape_[3], head = shape_[2] * row;
    return {elements_.data(),
            DType::kF32,
            shape_,
            {shape_[1] * head, head, row, 2}};
  }

 private:
  Dims shape_;
  std::vector<float> elements_;
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

class RowsInPlaceTest : public testing::TestWithParam<KernelOnTarget> {};

TEST_P(RowsInPlaceTest, ValuesAreAsPackedOnes) {
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

      const EndOfMemory memory(v);
      const ElementsApart apart(v);
      AttentionProblem problem;
      problem.q = q;
      problem.k = k;
      problem.mask = special.mask;
      problem.query_offset = QueryOffset::TopLeft();
      if (special.hide_by_bias) problem.bias = bias;
      problem.v = memory.view();
      const Results in_place = Compute(problem, flash, 1);
      const Results of_threads = Compute(problem, flash, 3);
      problem.v = apart.view();
      const Results packed = Compute(problem, flash, 1);
      ExpectSameBits(in_place.out, packed.out);
      ExpectSameBits(in_place.lse, packed.lse);
      ExpectSameBits(of_threads.out, packed.out);
    }
  }
}

// Every tenth key is NaN from the `first` one on.
Tensor KeysWithNaNFrom(int64_t first, Tensor k) {
  const int64_t keys = k.shape()[2], columns = k.shape()[3];
  for (int64_t h = 0; h < k.shape()[1]; ++h) {
    for (int64_t j = first; j < keys; j += 10) {
      k.AsMutable<float>()[(h * keys + j) * columns + 1] = kNaN;
    }
  }
  return k;
}

TEST_P(RowsInPlaceTest, KeysAreAsPackedOnes) {
  struct Case {
    const char* name;
    int64_t columns, queries, keys, first_nan;
    Mask mask = Mask::Full();
  };
  const Case cases[] = {
      {"two blocks and a rest", 64, 40, 1100, 1100},
      {"whole blocks", 72, 13, 1024, 1024},
      {"one row less than a strip of the widest", 64, 11, 600, 600},
      {"as long as one chain of products", 128, 24, 512, 512},
      {"longer than that", 132, 24, 512, 512},
      {"not whole pieces", 66, 24, 512, 512},
      {"NaN", 64, 40, 1100, 300},
      {"causal", 64, 40, 1100, 1099, Mask::Causal()},
      {"lengths", 64, 40, 1100, 900, Mask::Lengths({40}, {900})},
      {"a window", 64, 40, 1100, 1060, Mask::Window(600, 0)},
  };
  Random random(6);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor q = random.Numbers({1, 4, c.queries, c.columns});
    const Tensor k =
        KeysWithNaNFrom(c.first_nan, random.Numbers({1, 2, c.keys, c.columns}));
    const Tensor v = random.Numbers({1, 2, c.keys, kColumns});
    const EndOfMemory memory(k);
    const ElementsApart apart(k);
    AttentionProblem problem;
    problem.q = q;
    problem.v = v;
    problem.mask = c.mask;
    problem.query_offset = QueryOffset::At(1060);
    problem.k = memory.view();
    const Results by_strips = Compute(problem, GetParam(), 1);
    const Results of_threads = Compute(problem, GetParam(), 3);
    problem.k = apart.view();
    const Results packed = Compute(problem, GetParam(), 1);
    ExpectSameBits(by_strips.out, packed.out);
    ExpectSameBits(by_strips.lse, packed.lse);
    ExpectSameBits(of_threads.out, packed.out);
  }
}

std::vector<KernelOnTarget> FlashKernels() {
  std::vector<KernelOnTarget> found;
  for (const KernelOnTarget& one : AllKernels()) {
    if (one.kernel == "flash") found.push_back(one);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowsInPlaceTest,
                         testing::ValuesIn(FlashKernels()),
                         [](const testing::TestParamInfo<KernelOnTarget>& one) {
                           return one.param.Name();
                         });

}  // namespace
}  // namespace regard::inline v0
