// The arithmetic of the tile loop where whole problems don't show it: 2^x to
// the last place, the largest scores of a strip.
#include "attention/kernels/flash_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace regard::inline v0 {
namespace {

template <typename T>
struct Target {
  std::string name;
  const FlashOps<T>* ops;
};

template <typename T>
std::vector<Target<T>> AllTargets() {
  std::vector<Target<T>> all;
  for (const SimdTarget target : UsableSimdTargets()) {
    const FlashOps<T>* ops = FlashOpsFor<T>(target);
    if (ops != nullptr) all.push_back({SimdTargetName(target), ops});
  }
  return all;
}

// What an operation may ask for: vectors begin at lines.
template <typename T>
class Aligned {
 public:
  explicit Aligned(int64_t count)
      : memory_(static_cast<size_t>(count) + 64 / sizeof(T)) {
    void* at = memory_.data();
    size_t space = memory_.size() * sizeof(T);
    data_ = static_cast<T*>(
        std::align(64, static_cast<size_t>(count) * sizeof(T), at, space));
  }
  T* data() { return data_; }

 private:
  std::vector<T> memory_;
  T* data_;
};

template <typename T>
class FlashOpsTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FlashOpsTest, Types);

// 2^(scale * x), as weights become.
template <typename T>
std::vector<T> Powers(const FlashOps<T>& ops, const std::vector<T>& x,
                      T scale) {
  constexpr int64_t kCount = kKeysPerBlock<T>;
  Aligned<T> s(kCount);
  std::vector<T> result;
  const int64_t size = static_cast<int64_t>(x.size());
  for (int64_t at = 0; at < size; at += kCount) {
    const int64_t count = std::min(kCount, size - at);
    std::fill(s.data(), s.data() + kCount, T{0});
    std::copy_n(x.data() + at, count, s.data());
    ops.weights(s.data(), kCount, scale, T{0}, T{1});
    result.insert(result.end(), s.data(), s.data() + count);
  }
  return result;
}

// Numbers from 0 down to where 2^x isn't normal, among them all that lie near
// halves and near multiples of 1/64.
template <typename T>
std::vector<T> Exponents() {
  std::vector<T> all;
  std::mt19937_64 random(1);
  const T lowest = std::numeric_limits<T>::min_exponent - 1;
  for (T x = 0; x >= lowest; x -= T{1} / 64) {
    all.insert(all.end(),
               {x, std::nextafter(x, T{0}), std::nextafter(x, 2 * lowest)});
  }
  std::uniform_real_distribution<T> any(lowest, 0);
  std::uniform_real_distribution<T> small(-2, 0);
  for (int i = 0; i < 50'000; ++i) all.push_back(any(random));
  for (int i = 0; i < 50'000; ++i) all.push_back(small(random));
  for (int i = 0; i < 100; ++i) all.push_back(-std::ldexp(small(random), -i));
  std::erase_if(all, [&](T x) { return x > 0 || x < lowest; });
  return all;
}

TYPED_TEST(FlashOpsTest, PowersOfTwoAreWithinTwoUnits) {
  using T = TypeParam;
  for (const T scale : {T{1}, T(std::numbers::log2e), T(0.3), T(0.01803)}) {
    std::vector<T> exponents = Exponents<T>();
    for (T& x : exponents) x /= scale;
    for (const Target<T>& target : AllTargets<T>()) {
      SCOPED_TRACE(target.name + ", scale " + std::to_string(scale));
      const std::vector<T> powers = Powers<T>(*target.ops, exponents, scale);
      long double worst = 0;
      for (size_t i = 0; i < exponents.size(); ++i) {
        const long double exact =
            std::exp2(static_cast<long double>(scale) * exponents[i]);
        if (exact < std::numeric_limits<T>::min()) continue;
        const long double unit = std::ldexp(
            static_cast<long double>(std::numeric_limits<T>::epsilon()),
            static_cast<int>(std::floor(std::log2(exact))));
        worst = std::max(worst, std::fabs(powers[i] - exact) / unit);
      }
      EXPECT_LE(worst, 2.0L);
      EXPECT_GE(worst, 0.4L);  // the test sees the last place
    }
  }
}

TYPED_TEST(FlashOpsTest, PowersOfTwoAtTheEdges) {
  using T = TypeParam;
  constexpr T kInf = std::numeric_limits<T>::infinity();
  constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
  constexpr T kSmallest = std::numeric_limits<T>::min();
  const T lowest = std::numeric_limits<T>::min_exponent - 1;
  std::vector<T> below;
  for (T x = lowest; x > lowest - 4; x -= T{1} / 128) below.push_back(x);
  for (T x = lowest; x > -1e30; x *= T(1.5)) below.push_back(x);
  for (const T scale :
       {T{1}, T(0.7), std::ldexp(T(1.3), -100), std::ldexp(T(1.3), 100)}) {
    for (const Target<T>& target : AllTargets<T>()) {
      SCOPED_TRACE(target.name + ", scale " + std::to_string(scale));
      EXPECT_EQ(Powers<T>(*target.ops, {0, -0.0, -kInf}, scale),
                (std::vector<T>{1, 1, 0}));
      EXPECT_EQ(Powers<T>(*target.ops, {-2 / scale}, scale)[0], T{0.25});
      const std::vector<T> nans =
          Powers<T>(*target.ops, {kNaN, -kNaN, kInf - kInf}, scale);
      for (const T nan : nans) EXPECT_TRUE(std::isnan(nan));
      std::vector<T> scaled;
      for (const T x : below) scaled.push_back(x / scale);
      const std::vector<T> powers = Powers<T>(*target.ops, scaled, scale);
      for (size_t i = 0; i < below.size(); ++i) {
        EXPECT_GE(powers[i], 0) << below[i];
        EXPECT_LE(powers[i], kSmallest * T(1.00001)) << below[i];
        if (below[i] < lowest - 2) {
          EXPECT_EQ(powers[i], 0) << below[i];
        }
      }
    }
  }
}

// The scores of a strip and the largest of each row.
template <typename T>
struct Strip {
  Aligned<T> q, k, s, largest;
  Strip(const FlashOps<T>& ops, int64_t depth)
      : q(ops.strip_rows * depth),
        k(kKeysPerBlock<T> * depth),
        s(ops.strip_rows * kScoreStride<T>),
        largest(ops.strip_rows) {
    std::mt19937 random(2);
    std::uniform_real_distribution<T> any(-3, 1);
    std::generate_n(q.data(), ops.strip_rows * depth,
                    [&] { return any(random); });
    std::generate_n(k.data(), kKeysPerBlock<T> * depth,
                    [&] { return any(random); });
  }
};

TYPED_TEST(FlashOpsTest, LargestScoresOfAStrip) {
  using T = TypeParam;
  for (const Target<T>& target : AllTargets<T>()) {
    const FlashOps<T>& ops = *target.ops;
    for (const int64_t depth : {1, 72, 128, 200}) {
      Strip<T> strip(ops, depth);
      for (int64_t rows = 1; rows <= ops.strip_rows; ++rows) {
        for (const int64_t vectors : {1, 2, 3, 8}) {
          SCOPED_TRACE(target.name + ", D " + std::to_string(depth) + ", " +
                       std::to_string(rows) + " rows");
          const int64_t count = vectors * ops.lanes;
          LinesAhead lines;
          ops.scores(rows, strip.q.data(), strip.k.data(), depth, count,
                     strip.s.data(), strip.largest.data(), {}, &lines);
          for (int64_t r = 0; r < rows; ++r) {
            const T* s = strip.s.data() + r * kScoreStride<T>;
            EXPECT_EQ(strip.largest.data()[r], *std::max_element(s, s + count));
          }
        }
      }
    }
  }
}

// The keys of `strip`, one behind the other with something between them.
template <typename T>
std::vector<T> KeyRowsOf(const FlashOps<T>& ops, Strip<T>& strip, int64_t depth,
                         int64_t count, int64_t step) {
  std::vector<T> rows(static_cast<size_t>((count - 1) * step + depth), T(1e30));
  for (int64_t i = 0; i < count; ++i) {
    const T* panel = strip.k.data() + i / ops.panel * ops.panel * depth;
    for (int64_t c = 0; c < depth; ++c) {
      rows[static_cast<size_t>(i * step + c)] =
          panel[c * ops.panel + i % ops.panel];
    }
  }
  return rows;
}

TYPED_TEST(FlashOpsTest, AStripPacksWhatItMultiplies) {
  using T = TypeParam;
  constexpr int64_t kUnit = 16 / sizeof(T);
  for (const Target<T>& target : AllTargets<T>()) {
    const FlashOps<T>& ops = *target.ops;
    ASSERT_GE(ops.pack_depth, 128) << target.name;
    for (const int64_t depth : {kUnit, 3 * kUnit, int64_t{72}, int64_t{128}}) {
      for (const int64_t count : {ops.panel, 3 * ops.panel}) {
        SCOPED_TRACE(target.name + ", D " + std::to_string(depth) + ", " +
                     std::to_string(count) + " keys");
        Strip<T> strip(ops, depth), packing(ops, depth);
        const int64_t step = depth + 5;
        const std::vector<T> rows = KeyRowsOf(ops, strip, depth, count, step);
        std::fill_n(packing.k.data(), count * depth, T{0});
        LinesAhead none, lines;
        lines.Add(reinterpret_cast<const std::byte*>(rows.data()), count,
                  step * static_cast<int64_t>(sizeof(T)),
                  depth * static_cast<int64_t>(sizeof(T)));
        lines.Spread(depth);
        ops.scores(ops.strip_rows, strip.q.data(), strip.k.data(), depth, count,
                   strip.s.data(), strip.largest.data(), {}, &none);
        ops.pack_scores(strip.q.data(), rows.data(), step, packing.k.data(),
                        depth, count, packing.s.data(), packing.largest.data(),
                        {}, &lines);
        EXPECT_TRUE(std::equal(strip.k.data(), strip.k.data() + count * depth,
                               packing.k.data()));
        for (int64_t r = 0; r < ops.strip_rows; ++r) {
          const T* s = strip.s.data() + r * kScoreStride<T>;
          EXPECT_TRUE(
              std::equal(s, s + count, packing.s.data() + r * kScoreStride<T>));
          EXPECT_EQ(strip.largest.data()[r], packing.largest.data()[r]);
        }
      }
    }
  }
}

TYPED_TEST(FlashOpsTest, SoftmaxIsTheSameWithLargestScoresGiven) {
  using T = TypeParam;
  for (const Target<T>& target : AllTargets<T>()) {
    SCOPED_TRACE(target.name);
    const FlashOps<T>& ops = *target.ops;
    const int64_t rows = ops.strip_rows;
    const int64_t count = 5 * ops.lanes;
    const IndexRange all = {0, count};
    std::vector<std::vector<T>> results;
    for (const bool given : {false, true}) {
      Strip<T> strip(ops, 64);
      LinesAhead lines;
      ops.scores(rows, strip.q.data(), strip.k.data(), 64, count,
                 strip.s.data(), strip.largest.data(), {}, &lines);
      std::vector<T> state(static_cast<size_t>(3 * rows), T{0.5});
      ops.softmax(rows, strip.s.data(), {&all, 1}, T(0.3),
                  given ? strip.largest.data() : nullptr,
                  {state.data(), state.data() + rows, state.data() + 2 * rows});
      for (int64_t r = 0; r < rows; ++r) {
        const T* s = strip.s.data() + r * kScoreStride<T>;
        state.insert(state.end(), s, s + count);
      }
      results.push_back(state);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

}  // namespace
}  // namespace regard::inline v0
