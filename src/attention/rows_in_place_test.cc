// Values that lie side by side may be read where they are, and keys packed by
// the strip that multiplies them first; others are packed before: the results
// are the same, bit for bit, whatever the values.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
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

// A copy in T with NaN between the elements.
template <typename T>
class ElementsApart {
 public:
  explicit ElementsApart(const Tensor& x)
      : shape_(x.shape()),
        elements_(static_cast<size_t>(2 * x.NumElements()),
                  std::numeric_limits<T>::quiet_NaN()) {
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      elements_[static_cast<size_t>(2 * i)] = T{x.As<float>()[i]};
    }
  }
  TensorView view() const {
    const int64_t row = 2 * shape_[3], head = shape_[2] * row;
    return {elements_.data(),
            DTypeOf<T>(),
            shape_,
            {shape_[1] * head, head, row, 2}};
  }

 private:
  Dims shape_;
  std::vector<T> elements_;
};

Tensor ToDoubles(const Tensor& x) {
  Tensor doubles(DType::kF64, x.shape());
  std::copy_n(x.As<float>(), x.NumElements(), doubles.AsMutable<double>());
  return doubles;
}

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

AttentionResult Compute(const AttentionProblem& problem,
                        const KernelOnTarget& kernel, int threads,
                        bool weights = false) {
  AttentionOptions options = OptionsFor(kernel, threads);
  options.weights = weights;
  return Attend(problem, options);
}

template <typename T>
void ExpectSameBits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const T x = a.As<T>()[i], y = b.As<T>()[i];
    if (x != x && y != y) continue;
    ASSERT_EQ(std::memcmp(&x, &y, sizeof(T)), 0)
        << "element " << i << ": " << x << ", " << y;
  }
}

template <typename T = float>
void ExpectSame(const AttentionResult& a, const AttentionResult& b) {
  ExpectSameBits<T>(a.out, b.out);
  ExpectSameBits<T>(a.lse, b.lse);
  ASSERT_EQ(a.weights.shape(), b.weights.shape());
  if (!a.weights.shape().empty()) ExpectSameBits<T>(a.weights, b.weights);
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
      const ElementsApart<float> apart(v);
      AttentionProblem problem;
      problem.q = q;
      problem.k = k;
      problem.mask = special.mask;
      problem.query_offset = QueryOffset::TopLeft();
      if (special.hide_by_bias) problem.bias = bias;
      problem.v = memory.view();
      const AttentionResult in_place = Compute(problem, flash, 1);
      const AttentionResult of_threads = Compute(problem, flash, 3);
      problem.v = apart.view();
      const AttentionResult packed = Compute(problem, flash, 1);
      ExpectSame(in_place, packed);
      ExpectSame(of_threads, packed);
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

// With values that lie apart, so that they are packed, or side by side.
TEST_P(RowsInPlaceTest, KeysAreAsPackedOnes) {
  struct Case {
    const char* name;
    int64_t columns, queries, keys, first_nan;
    Mask mask = Mask::Full();
    float value = 0;
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
      {"a value that isn't finite", 64, 40, 1100, 1100, Mask::Full(),
       kInfinity},
      {"a value of -0", 64, 40, 1100, 1100, Mask::Full(), -0.0f},
  };
  Random random(6);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor q = random.Numbers({1, 4, c.queries, c.columns});
    const Tensor k =
        KeysWithNaNFrom(c.first_nan, random.Numbers({1, 2, c.keys, c.columns}));
    Tensor v = random.Numbers({1, 2, c.keys, kColumns});
    if (c.value != 0 || std::signbit(c.value)) SetKey(v, 2, c.value);
    const EndOfMemory memory(k);
    const ElementsApart<float> apart(k), values_apart(v);
    for (const bool side_by_side : {true, false}) {
      AttentionProblem problem;
      problem.q = q;
      problem.v = side_by_side ? v.view() : values_apart.view();
      problem.mask = c.mask;
      problem.query_offset = QueryOffset::At(1060);
      problem.k = memory.view();
      const AttentionResult by_strips = Compute(problem, GetParam(), 1, true);
      const AttentionResult of_threads = Compute(problem, GetParam(), 3, true);
      problem.k = apart.view();
      const AttentionResult packed = Compute(problem, GetParam(), 1, true);
      ExpectSame(by_strips, packed);
      ExpectSame(of_threads, packed);
    }
  }
}

TEST_P(RowsInPlaceTest, KeysInF64AreAsPackedOnes) {
  Random random(7);
  for (const int64_t columns : {2, 63, 64, 128, 130}) {
    SCOPED_TRACE(columns);
    const Tensor keys = random.Numbers({1, 2, 600, columns});
    const Tensor q = ToDoubles(random.Numbers({1, 4, 40, columns}));
    const Tensor k = ToDoubles(keys);
    const Tensor v = ToDoubles(random.Numbers({1, 2, 600, kColumns}));
    const ElementsApart<double> apart(keys);
    AttentionProblem problem;
    problem.q = q;
    problem.k = k;
    problem.v = v;
    const AttentionResult by_strips = Compute(problem, GetParam(), 1, true);
    problem.k = apart.view();
    ExpectSame<double>(by_strips, Compute(problem, GetParam(), 1, true));
  }
}

// One kv head of `keys` keys in slots of their own.
struct Slots {
  const char* name;
  int64_t keys, slots;
  std::function<int64_t(int64_t key)> slot_of;
  int64_t page_rows = 0;
  std::optional<KeyRing> ring = {};
};

// Pages that lie one behind the other, and what a ring holds up to its end, are
// rows at one distance.
TEST_P(RowsInPlaceTest, KeysInPagesAndRingsAreAsInOneArray) {
  const auto swapped = [](int64_t key) {
    const int64_t page = key / 64;
    return page == 3 || page == 10 ? key + (13 - 2 * page) * 64 : key;
  };
  const Slots cases[] = {
      {"pages in order", 1100, 1152, [](int64_t j) { return j; }, 64},
      {"two pages swapped", 1100, 1152, swapped, 64},
      {"a ring that ends inside a block", 3000, 1100,
       [](int64_t j) { return j % 1100; }, 0, KeyRing{0, 1100}},
      {"a ring that ends with a block", 3000, 1536,
       [](int64_t j) { return j % 1536; }, 0, KeyRing{0, 1536}},
      {"first keys and a ring", 3000, 1200,
       [](int64_t j) { return j < 8 ? j : 8 + (j - 8) % 1192; }, 0,
       KeyRing{8, 1192}},
  };
  Random random(8);
  for (const Slots& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor q = random.Numbers({1, 2, 40, 64});
    const Tensor k = random.Numbers({1, 1, c.keys, 64});
    const Tensor v = random.Numbers({1, 1, c.keys, kColumns});
    AttentionProblem problem;
    problem.q = q;
    problem.k = k;
    problem.v = v;
    problem.mask = Mask::Window(1000, 0, c.ring ? c.ring->first_keys : 0);
    problem.query_offset = QueryOffset::At(c.keys - 40);
    const AttentionResult in_one = Compute(problem, GetParam(), 1, true);

    Tensor k_slots(DType::kF32, {1, 1, c.slots, 64});
    Tensor v_slots(DType::kF32, {1, 1, c.slots, kColumns});
    for (int64_t j = 0; j < c.keys; ++j) {
      std::copy_n(k.As<float>() + j * 64, 64,
                  k_slots.AsMutable<float>() + c.slot_of(j) * 64);
      std::copy_n(v.As<float>() + j * kColumns, kColumns,
                  v_slots.AsMutable<float>() + c.slot_of(j) * kColumns);
    }
    problem.k = k_slots;
    problem.v = v_slots;
    problem.ring = c.ring;
    problem.key_lengths = TensorView(&c.keys, {1});
    std::vector<int64_t> table;
    if (c.page_rows > 0) {
      const int64_t pages = c.slots / c.page_rows;
      for (int64_t page = 0; page < pages; ++page) {
        table.push_back(c.slot_of(page * c.page_rows) / c.page_rows);
      }
      const Dims k_shape = {pages, 1, c.page_rows, 64};
      const Dims v_shape = {pages, 1, c.page_rows, kColumns};
      problem.k = TensorView(k_slots.As<float>(), k_shape);
      problem.v = TensorView(v_slots.As<float>(), v_shape);
      problem.block_table = TensorView(table.data(), {1, pages});
    }
    ExpectSame(Compute(problem, GetParam(), 1, true), in_one);
    ExpectSame(Compute(problem, GetParam(), 3, true), in_one);
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
