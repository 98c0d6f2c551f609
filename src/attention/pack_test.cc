#include "attention/pack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "tensor/convert.h"
#include "tensor/simd_target.h"
#include "tests/support/guarded_array.h"
#include "tests/support/random.h"

namespace regard::inline v0 {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A way of packing: T on an instruction set, in pairs or not.
struct Way {
  SimdTarget target;
  std::string name;
  bool pairs = false;
};

std::vector<Way> Ways() {
  std::vector<Way> ways;
  for (const std::string& name : UsableInstructionSets()) {
    const SimdTarget target = FindSimdTarget(name, "test");
    if (PackOpsFor<float>(target) == nullptr) continue;
    ways.push_back({target, name});
    ways.push_back({target, name + "_pairs", true});
  }
  return ways;
}

// Memory for packed numbers, aligned, with room behind it that must stay as it
// is.
template <typename T>
class Target {
 public:
  explicit Target(int64_t count)
      : memory_(static_cast<size_t>(count) + 64, kMark), count_(count) {
    void* at = memory_.data();
    size_t room = memory_.size() * sizeof(T);
    at_ = static_cast<T*>(std::align(64, 0, at, room));
  }
  T* at() { return at_; }
  T operator[](int64_t i) const { return at_[i]; }
  // Whether what lies behind the numbers is untouched.
  bool Intact() const {
    return std::all_of(static_cast<const T*>(at_) + count_,
                       memory_.data() + memory_.size(),
                       [](T number) { return number == kMark; });
  }

 private:
  static constexpr T kMark = T{12345};
  std::vector<T> memory_;
  int64_t count_;
  T* at_;
};

// Numbers [rows, columns] that lie as `layout` says.
GuardedArray Numbers(DType dtype, int64_t rows, int64_t columns, Layout layout,
                     uint64_t seed) {
  GuardedArray array(dtype, {1, 1, rows, columns}, layout);
  Random random(seed);
  for (int64_t i = 0; i < rows * columns; ++i) {
    array.Set(i, static_cast<double>(random.Below(255) + 1) / 64 - 2.1);
  }
  return array;
}

// What an element has to look like: a number, or one of a pair.
template <typename T>
double Element(const T& cell, bool pairs, int64_t half) {
  if (!pairs) return static_cast<double>(cell);
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(cell));
  const uint32_t number = half == 0 ? bits & 0xFFFF : bits >> 16;
  return static_cast<double>(F32FromBF16(static_cast<uint16_t>(number)));
}

bool Has(const std::vector<IndexRange>& ranges, int64_t key) {
  return std::any_of(ranges.begin(), ranges.end(), [&](IndexRange range) {
    return range.begin <= key && key < range.end;
  });
}

// One array and what is to be packed of it.
struct Shape {
  int64_t first, count;  // of the keys
  int64_t columns;
  std::vector<IndexRange> seen;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (const int64_t columns :
       {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 72, 80, 81, 129, 144, 150}) {
    shapes.push_back({0, 32, columns, {{0, 32}}});
    shapes.push_back({64, 96, columns, {{67, 113}}});
    shapes.push_back({0, 192, columns, {{0, 1}, {64, 128}, {150, 151}}});
  }
  shapes.push_back({32, 32, 20, {}});
  return shapes;
}

// What is packed of the rows: of those that aren't seen, which get `poison`, 0.
std::vector<double> PoisonUnseen(const Shape& shape, double poison,
                                 GuardedArray& rows) {
  std::vector<double> wanted(static_cast<size_t>(rows.view().NumElements()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int64_t element = static_cast<int64_t>(i);
    if (Has(shape.seen, element / shape.columns)) {
      wanted[i] = rows.Get(element);
    } else {
      rows.Set(element, poison);
    }
  }
  return wanted;
}

template <typename T>
void ExpectKeys(const Way& way, DType dtype, const Shape& shape,
                Layout layout) {
  const Packer<T> packer(*PackOpsFor<T>(way.target), way.pairs);
  const int64_t panel = 32, pair = way.pairs ? 2 : 1;
  const int64_t cells = packer.CellsOf(shape.columns);
  const int64_t rows = shape.first + shape.count;
  GuardedArray k = Numbers(dtype, rows, shape.columns, layout, 1);
  const std::vector<double> wanted = PoisonUnseen(shape, kNaN, k);
  Target<T> to(cells * shape.count);
  packer.Keys(RowsOf(k.view(), 0, 0, 0), shape.first, shape.count, shape.seen,
              shape.columns, panel, to.at());
  ASSERT_TRUE(to.Intact());
  for (int64_t j = 0; j < shape.count; ++j) {
    for (int64_t d = 0; d < cells * pair; ++d) {
      const T cell =
          to[j / panel * cells * panel + d / pair * panel + j % panel];
      const double right = d < shape.columns
                               ? wanted[static_cast<size_t>(
                                     (shape.first + j) * shape.columns + d)]
                               : 0;
      ASSERT_EQ(Element(cell, way.pairs, d % pair), right)
          << "key " << j << " column " << d;
    }
  }
}

template <typename T>
void ExpectValues(const Way& way, DType dtype, const Shape& shape,
                  Layout layout) {
  const Packer<T> packer(*PackOpsFor<T>(way.target), way.pairs);
  const int64_t lanes = PackOpsFor<T>(way.target)->lanes;
  const int64_t panel = 2 * lanes, pair = way.pairs ? 2 : 1;
  const int64_t padded = (shape.columns + lanes - 1) / lanes * lanes;
  const int64_t rows = shape.first + shape.count;
  GuardedArray v = Numbers(dtype, rows, shape.columns, layout, 2);
  const std::vector<double> wanted = PoisonUnseen(shape, kInfinity, v);
  Target<T> to(padded * shape.count / pair);
  EXPECT_EQ(packer.Values(RowsOf(v.view(), 0, 0, 0), shape.first, shape.count,
                          shape.seen, shape.columns, padded, panel, to.at()),
            ValueClass::kOrdinary);
  ASSERT_TRUE(to.Intact());
  for (int64_t j = 0; j < shape.count; ++j) {
    for (int64_t e = 0; e < padded; ++e) {
      const int64_t begin = e / panel * panel;
      const int64_t width = std::min(panel, padded - begin);
      const T cell =
          to[begin * shape.count / pair + j / pair * width + e % panel];
      const double right = e < shape.columns
                               ? wanted[static_cast<size_t>(
                                     (shape.first + j) * shape.columns + e)]
                               : 0;
      ASSERT_EQ(Element(cell, way.pairs, j % pair), right)
          << "key " << j << " column " << e;
    }
  }
}

template <typename T>
void ExpectAll(const Way& way, DType dtype) {
  int next = 0;
  for (const Shape& shape : Shapes()) {
    next = (next + 1) % kLayouts;
    for (const Layout layout : {Layout::kContiguous, Layout{next}}) {
      SCOPED_TRACE(way.name + " " + Name(dtype) + " columns " +
                   std::to_string(shape.columns) + " from " +
                   std::to_string(shape.first) + " layout " +
                   std::to_string(static_cast<int>(layout)));
      ExpectKeys<T>(way, dtype, shape, layout);
      ExpectValues<T>(way, dtype, shape, layout);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Pack, KeysAndValuesOfEveryTypeAndLayout) {
  for (const Way& way : Ways()) {
    if (way.pairs) {
      ExpectAll<float>(way, DType::kBF16);
      continue;
    }
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      ExpectAll<float>(way, dtype);
    }
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      ExpectAll<double>(way, dtype);
    }
  }
}

TEST(Pack, RowsWithAScale) {
  constexpr int64_t kRows = 32, kColumns = 21;
  std::vector<int8_t> numbers(kRows * kColumns);
  const TensorView k(numbers.data(), DType::kI8, {1, 1, kRows, kColumns});
  Tensor scales(DType::kF32, {1, 1, kRows});
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int8_t>(static_cast<int>(i % 255) - 127);
  }
  for (int64_t i = 0; i < kRows; ++i) {
    scales.AsMutable<float>()[i] = 1 / static_cast<float>(i + 3);
  }
  for (const Way& way : Ways()) {
    if (way.pairs) continue;
    const Packer<float> packer(*PackOpsFor<float>(way.target), false);
    const std::vector<IndexRange> seen = {{0, kRows}};
    Target<float> to(kRows * kColumns);
    packer.Keys(RowsOf(k, 0, 0, 0, scales), 0, kRows, seen, kColumns, 32,
                to.at());
    for (int64_t i = 0; i < k.NumElements(); ++i) {
      const int64_t row = i / kColumns, d = i % kColumns;
      const float right = scales.As<float>()[row] *
                          static_cast<float>(numbers[static_cast<size_t>(i)]);
      ASSERT_EQ(to[d * 32 + row], right) << way.name << " element " << i;
    }
  }
}

// Columns that are narrower than a vector, as wide, and wider.
template <typename T>
void ExpectQueries(const Way& way, DType dtype, double factor) {
  const Packer<T> packer(*PackOpsFor<T>(way.target), way.pairs);
  const int64_t pair = way.pairs ? 2 : 1;
  const int64_t lanes = PackOpsFor<T>(way.target)->lanes;
  for (const int64_t strip_rows :
       {lanes - lanes / 4, lanes + lanes / 2, 2 * lanes}) {
    for (const int64_t columns : {1, 8, 16, 40, 64, 70, 80, 100}) {
      for (const int64_t there : {int64_t{1}, strip_rows - 1, strip_rows}) {
        const GuardedArray q =
            Numbers(dtype, 40, columns, Layout::kPaddedRows, 3);
        const int64_t cells = packer.CellsOf(columns);
        Target<T> to(cells * strip_rows);
        packer.Queries(RowsOf(q.view(), 0, 0, 0), {5, 5 + there}, columns,
                       strip_rows, factor, to.at());
        ASSERT_TRUE(to.Intact());
        for (int64_t r = 0; r < strip_rows; ++r) {
          for (int64_t d = 0; d < columns; ++d) {
            const T cell = to[d / pair * strip_rows + r];
            const double right =
                r < there ? static_cast<double>(static_cast<T>(
                                factor * q.Get((5 + r) * columns + d)))
                          : 0;
            ASSERT_EQ(Element(cell, way.pairs, d % pair), right)
                << way.name << " rows " << there << " of " << strip_rows
                << " columns " << columns << ": row " << r << " column " << d;
          }
        }
      }
    }
  }
}

TEST(Pack, QueriesTimesAPowerOfTwo) {
  for (const Way& way : Ways()) {
    for (const double factor : {1.0, 0.125, 0.0}) {
      ExpectQueries<float>(way, way.pairs ? DType::kBF16 : DType::kF32, factor);
      if (!way.pairs) ExpectQueries<double>(way, DType::kF64, factor);
    }
    // Less than f32 holds: products are rounded once.
    if (!way.pairs) ExpectQueries<float>(way, DType::kF32, 0x1p-150);
  }
}

// What a single value among ordinary ones makes of the class.
template <typename T>
void ExpectClass(const Way& way, DType dtype, double value, ValueClass right) {
  const Packer<T> packer(*PackOpsFor<T>(way.target), way.pairs);
  const int64_t lanes = PackOpsFor<T>(way.target)->lanes;
  constexpr int64_t kRows = 64;
  for (const int64_t columns : {5, 64, 83}) {
    const int64_t padded = (columns + lanes - 1) / lanes * lanes;
    for (const int64_t row : {0, 1, 17, 63}) {
      for (const int64_t column : {int64_t{0}, columns / 2, columns - 1}) {
        GuardedArray v = Numbers(dtype, kRows, columns, Layout::kContiguous, 4);
        v.Set(row * columns + column, value);
        const std::vector<IndexRange> seen = {{0, kRows}};
        Target<T> to(padded * kRows);
        EXPECT_EQ(packer.Values(RowsOf(v.view(), 0, 0, 0), 0, kRows, seen,
                                columns, padded, 2 * lanes, to.at()),
                  right)
            << way.name << " " << value << " in row " << row << " column "
            << column << " of " << columns;
      }
    }
  }
}

TEST(Pack, ClassesOfValues) {
  constexpr ValueClass kOrdinary = ValueClass::kOrdinary,
                       kUnusual = ValueClass::kUnusual,
                       kNotFinite = ValueClass::kNotFinite;
  for (const Way& way : Ways()) {
    const DType dtype = way.pairs ? DType::kBF16 : DType::kF32;
    for (const double sign : {1.0, -1.0}) {
      ExpectClass<float>(way, dtype, sign * 0x1p64, kOrdinary);
      ExpectClass<float>(way, dtype, sign * 0x1p65, kUnusual);
      ExpectClass<float>(way, dtype, sign * 0x1p127, kUnusual);
      ExpectClass<float>(way, dtype, sign * double{kInfinity}, kNotFinite);
      ExpectClass<float>(way, dtype, sign * 0x1p-126, kOrdinary);
      ExpectClass<float>(way, dtype, sign * 0x1p-127,
                         way.pairs ? kUnusual : kOrdinary);
    }
    ExpectClass<float>(way, dtype, 0.0, kOrdinary);
    ExpectClass<float>(way, dtype, -0.0, kUnusual);
    ExpectClass<float>(way, dtype, double{kNaN}, kNotFinite);
    if (way.pairs) continue;
    ExpectClass<double>(way, DType::kF64, 0x1p512, kOrdinary);
    ExpectClass<double>(way, DType::kF64, -0x1p513, kUnusual);
    ExpectClass<double>(way, DType::kF64, -0.0, kUnusual);
    ExpectClass<double>(way, DType::kF64, double{kNaN}, kNotFinite);
    ExpectClass<double>(way, DType::kF64, double{-kInfinity}, kNotFinite);
  }
}

// Two readable pages between unreadable ones.
class Island {
 public:
  Island() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ = static_cast<std::byte*>(mmap(nullptr, 4 * page_, PROT_NONE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + page_, 2 * page_, PROT_READ | PROT_WRITE);
  }
  ~Island() { munmap(memory_, 4 * page_); }
  Island(const Island&) = delete;
  Island& operator=(const Island&) = delete;
  std::byte* begin() const { return memory_ + page_; }
  std::byte* end() const { return memory_ + 3 * page_; }

 private:
  size_t page_;
  std::byte* memory_;
};

TEST(Pack, NothingIsReadBesideTheRows) {
  const Island island;
  constexpr int64_t kRows = 21;
  for (const Way& way : Ways()) {
    const PackOps<float>& ops = *PackOpsFor<float>(way.target);
    const Packer<float> packer(ops, way.pairs);
    for (const int64_t columns : {1, 3, 9, 16, 23, 40, 70}) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        if (way.pairs && dtype != DType::kBF16) continue;
        const int64_t item = dtype == DType::kF32 ? 4 : 2;
        const int64_t bytes = kRows * columns * item;
        for (std::byte* at : {island.begin(), island.end() - bytes}) {
          std::memset(at, 0, static_cast<size_t>(bytes));
          TensorView view = {at, dtype, {1, 1, kRows, columns}};
          const Rows rows = RowsOf(view, 0, 0, 0);
          const std::vector<IndexRange> seen = {{0, kRows}};
          const int64_t padded =
              (columns + ops.lanes - 1) / ops.lanes * ops.lanes;
          Target<float> to(32 * padded);
          packer.Keys(rows, 0, 32, seen, columns, 32, to.at());
          packer.Queries(rows, {kRows - 3, kRows}, columns, 12, 0.5, to.at());
          EXPECT_EQ(packer.Values(rows, 0, 32, seen, columns, padded,
                                  2 * ops.lanes, to.at()),
                    ValueClass::kOrdinary);
        }
      }
    }
  }
}

}  // namespace
}  // namespace regard::inline v0
