// Indices past 2^31 and 2^32. Memory of that size is mapped but not there: a
// page is taken when something is written to it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "tests/support/compare.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

// Zeros as far as one can see.
class SparseMemory {
 public:
  explicit SparseMemory(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) data_ = memory;
  }
  ~SparseMemory() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  bool given() const { return data_ != nullptr; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(data_);
  }

 private:
  size_t bytes_;
  void* data_ = nullptr;
};

// Some machines promise no memory that they don't have.
#define SKIP_UNLESS_GIVEN(memory) \
  if (!(memory).given()) GTEST_SKIP() << "no address space for this test"

// Each kernel on its widest instruction set.
std::vector<KernelOnTarget> WidestKernels() {
  std::vector<KernelOnTarget> widest;
  std::set<std::string> seen;
  for (const KernelOnTarget& kernel : AllKernels()) {
    if (seen.insert(kernel.kernel).second) widest.push_back(kernel);
  }
  return widest;
}

float Number(int64_t i) { return static_cast<float>(i * 7919 % 1000) / 250; }

Tensor Column(int64_t length) {
  Tensor x(DType::kF32, {1, 1, length, 1});
  for (int64_t i = 0; i < length; ++i) {
    x.AsMutable<float>()[i] = Number(i);
  }
  return x;
}

// mlx#2894: 46,341^2 < 2^31 < 46,342^2.
class LargeMaskTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  static constexpr int64_t kLength = 46342, kLast = 20;

  // Row `query` of the definition, in double.
  template <typename Sees>
  double Expected(int64_t query, const Sees& sees) const {
    double sum = 0, out = 0;
    for (int64_t j = 0; j < kLength; ++j) {
      if (!sees(query, j)) continue;
      const double weight = std::exp(static_cast<double>(Number(query)) *
                                     static_cast<double>(Number(j)));
      sum += weight;
      out += weight * static_cast<double>(Number(j));
    }
    return sum == 0 ? 0 : out / sum;
  }

  AttentionProblem Problem(const Tensor& x, const Mask& mask) const {
    AttentionProblem p;
    p.q = p.k = p.v = x;
    p.mask = mask;
    return p;
  }

  AttentionOptions Options() const {
    AttentionOptions options = OptionsFor(GetParam(), 2);
    options.lse = options.weights = false;
    return options;
  }

  // The whole against the last rows alone, whose mask `last` has indices of its
  // own, and against the definition. The reference would take minutes for the
  // whole.
  template <typename Sees>
  void ExpectLastRows(const Mask& mask, const Mask& last, const Sees& sees) {
    const Tensor x = Column(kLength);
    AttentionProblem alone = Problem(x, last);
    alone.q = x.view().Slice(2, kLength - kLast, kLength);
    alone.query_offset = QueryOffset::BottomRight();
    const AttentionResult part = Attend(alone, Options());
    for (int64_t i = 0; i < kLast; ++i) {
      EXPECT_NEAR(part.out.As<float>()[i], Expected(kLength - kLast + i, sees),
                  1e-5)
          << i;
    }
    if (GetParam().kernel == "reference") return;
    const AttentionResult all = Attend(Problem(x, mask), Options());
    EXPECT_TRUE(
        SameBits(all.out.view().Slice(2, kLength - kLast, kLength), part.out));
    for (const int64_t i : {int64_t{0}, int64_t{5}, kLength / 2}) {
      EXPECT_NEAR(all.out.As<float>()[i], Expected(i, sees), 1e-5) << i;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, LargeMaskTest,
                         testing::ValuesIn(WidestKernels()),
                         [](const auto& info) { return info.param.Name(); });

// One bit a pair, 268 MB. In the first and the last rows about every third key;
// in those between only where REGARD_TEST_FULL asks for it.
TEST_P(LargeMaskTest, Bits) {
  constexpr int64_t kRowBytes = (kLength + 7) / 8;
  const SparseMemory bits(kLength * kRowBytes);
  SKIP_UNLESS_GIVEN(bits);
  const bool dense = std::getenv("REGARD_TEST_FULL") != nullptr;
  const auto sees = [&](int64_t i, int64_t j) {
    return (dense || i < 30 || i >= kLength - kLast) && (i * 5 + j) % 3 == 0;
  };
  for (int64_t i = 0; i < kLength; ++i) {
    if (!dense && i >= 30 && i < kLength - kLast) continue;
    for (int64_t j = (3 - i * 5 % 3) % 3; j < kLength; j += 3) {
      bits.As<uint8_t>()[i * kRowBytes + j / 8] |=
          static_cast<uint8_t>(1 << (j % 8));
    }
  }
  const TensorView all(bits.As<uint8_t>(), {kLength, kRowBytes});
  const Tensor last = Tensor::CopyOf(all.Slice(0, kLength - kLast, kLength));
  ExpectLastRows(Mask::Bits(all), Mask::Bits(last), sees);
}

// One byte a pair, 2^31 of them, and one number of a bias; a window leaves the
// diagonal, and the mask the first and last rows.
TEST_P(LargeMaskTest, BooleanAndBias) {
  const SparseMemory bytes(kLength * kLength);
  const SparseMemory numbers(kLength * kLength * 4);
  SKIP_UNLESS_GIVEN(bytes);
  SKIP_UNLESS_GIVEN(numbers);
  constexpr int64_t kWindow = 40;
  const auto sees = [](int64_t i, int64_t j) {
    return (i < 30 || i >= kLength - kLast) && j <= i && i - j < kWindow &&
           (i + j) % 3 != 0;
  };
  for (int64_t i = 0; i < kLength; ++i) {
    if (i == 30) i = kLength - kLast;
    for (int64_t j = std::max<int64_t>(0, i - kWindow + 1); j <= i; ++j) {
      bytes.As<uint8_t>()[i * kLength + j] = sees(i, j);
      // The bias of what is seen is 0.
      if (!sees(i, j)) numbers.As<float>()[i * kLength + j] = 50;
    }
  }
  const TensorView mask(bytes.As<uint8_t>(), {kLength, kLength});
  const Tensor x = Column(kLength);
  AttentionProblem p = Problem(x, {});
  p.bias = TensorView(numbers.As<float>(), {kLength, kLength});
  // The reference would take minutes for all rows.
  const int64_t first = GetParam().kernel == "reference" ? kLength - kLast : 0;
  p.q = x.view().Slice(2, first, kLength);
  p.query_offset = QueryOffset::BottomRight();
  p.bias = p.bias.Slice(0, first, kLength);
  p.mask =
      Mask::Window(kWindow, 0) & Mask::Boolean(mask.Slice(0, first, kLength));
  const AttentionResult all = Attend(p, Options());
  for (int64_t i = first; i < kLength; ++i) {
    if (i == 30) i = kLength - kLast;
    EXPECT_NEAR(all.out.As<float>()[i - first], Expected(i, sees), 1e-5) << i;
  }
  // What the mask hides there, the bias would have brought to light.
  p.mask = Mask::Window(kWindow, 0);
  const AttentionResult biased = Attend(p, Options());
  const auto last = [&](const AttentionResult& result) {
    return result.out.view().Slice(2, kLength - kLast - first, kLength - first);
  };
  EXPECT_GT(Compare(last(biased), last(all)).value, 0.1);
}

class LargeStrideTest : public testing::TestWithParam<KernelOnTarget> {};

INSTANTIATE_TEST_SUITE_P(Kernels, LargeStrideTest,
                         testing::ValuesIn(WidestKernels()),
                         [](const auto& info) { return info.param.Name(); });

// pytorch#187227: row 65,536 of 65,537 at a stride of 65,536 lies at 2^32, and
// halfway there row 32,768 at 2^31.
TEST_P(LargeStrideTest, RowTimesStride) {
  constexpr int64_t kRows = 65537, kStride = 65536;
  const SparseMemory memory((kRows - 1) * kStride * 4 + 8);
  SKIP_UNLESS_GIVEN(memory);
  Tensor copy(DType::kF32, {1, 1, kRows, 2});
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t d = 0; d < 2; ++d) {
      // The last row, whose index would wrap to that of the first, and the one
      // at 2^31 outweigh the others.
      const float number = Number(2 * i + d) + (i % 32768 == 0 ? 3.f : 0.f) +
                           (i == kRows - 1 ? 2.f : 0.f);
      memory.As<float>()[i * kStride + d] = number;
      copy.AsMutable<float>()[2 * i + d] = number;
    }
  }
  const TensorView far(memory.As<float>(), DType::kF32, {1, 1, kRows, 2},
                       {0, 0, kStride, 1});
  AttentionProblem p;
  p.k = p.v = far;
  p.q = far.Slice(2, kRows - 12, kRows);
  const AttentionOptions options = OptionsFor(GetParam());
  const AttentionResult result = Attend(p, options);
  p.k = p.v = copy;
  p.q = copy.view().Slice(2, kRows - 12, kRows);
  EXPECT_TRUE(SameBits(result.out, Attend(p, options).out));
}

// The same for results, in a few rows that lie far apart.
TEST_P(LargeStrideTest, Outputs) {
  constexpr int64_t kRows = 12, kStride = int64_t{3} << 28;  // 2^33 in all
  const SparseMemory memory(kRows * kStride * 4);
  SKIP_UNLESS_GIVEN(memory);
  const Tensor x = Column(kRows);
  AttentionProblem p;
  p.q = p.k = p.v = x;
  p.mask = Mask::Causal();
  const AttentionResult expected = Attend(p, OptionsFor(GetParam()));
  AttentionPlan plan(p, OptionsFor(GetParam()));
  const auto rows = [&](const Dims& shape, const Dims& strides, int64_t at) {
    return MutableTensorView(memory.As<float>() + at, DType::kF32, shape,
                             strides);
  };
  const AttentionOutputs outputs = {
      rows({1, 1, kRows, 1}, {0, 0, kStride, 1}, 0),
      rows({1, 1, kRows}, {0, 0, kStride}, 1),
      rows({1, 1, kRows, kRows}, {0, 0, kStride, 1}, 2)};
  plan.Run(p, outputs);
  EXPECT_TRUE(SameBits(outputs.out, expected.out));
  EXPECT_TRUE(SameBits(outputs.lse, expected.lse));
  EXPECT_TRUE(SameBits(outputs.weights, expected.weights));
}

class ZeroStrideTest : public testing::TestWithParam<KernelOnTarget> {};

INSTANTIATE_TEST_SUITE_P(Kernels, ZeroStrideTest,
                         testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

// One row for all: strides of 0 on any axis. Rows of whole vectors of every
// instruction set, which may be read where they lie.
TEST_P(ZeroStrideTest, IsOneForAll) {
  const Dims shape = {2, 2, 70, 16};
  Tensor memory(DType::kF32, shape);
  for (int64_t i = 0; i < memory.NumElements(); ++i) {
    memory.AsMutable<float>()[i] = Number(i) - 2;
  }
  for (int axes = 1; axes < 16; ++axes) {
    SCOPED_TRACE(axes);
    TensorView repeated = memory;
    for (int axis = 0; axis < 4; ++axis) {
      if (axes >> axis & 1) repeated.strides[axis] = 0;
    }
    const Tensor copy = Tensor::CopyOf(repeated);
    for (const int which : {0, 1, 2, 3}) {
      AttentionProblem p;
      p.q = p.k = p.v = memory;
      AttentionProblem written_out = p;
      const auto replace = [&](TensorView AttentionProblem::*view) {
        p.*view = repeated;
        written_out.*view = copy;
      };
      if (which != 1 && which != 2) replace(&AttentionProblem::q);
      if (which != 0 && which != 2) replace(&AttentionProblem::k);
      if (which != 0 && which != 1) replace(&AttentionProblem::v);
      p.mask = written_out.mask = Mask::Causal();
      EXPECT_TRUE(SameBits(Attend(p, OptionsFor(GetParam())).out,
                           Attend(written_out, OptionsFor(GetParam())).out));
    }
  }
}

}  // namespace
}  // namespace regard::inline v0
