// Under every mask, every kernel gives a row the same bits on any number of
// threads, alone and in batches, however its arrays lie, called from several
// threads of the host at once, and from inside of calls.
#include "tests/support/every_mask.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/parallel_for.h"
#include "regard/threads.h"
#include "tests/support/compare.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

class EveryMaskTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  // Plain loops take long, and know neither vectors nor packed types.
  bool Slow() const { return GetParam().kernel == "reference"; }
  DType Type() const { return TypeFor(GetParam().kernel); }
  std::vector<DType> Types() const {
    if (Slow() || Type() != DType::kF32) return {Type()};
    return {DType::kF32, DType::kF64, DType::kBF16};
  }
  AttentionResult Run(const AttentionProblem& problem, int threads = 1) {
    return Attend(problem, OptionsFor(GetParam(), threads));
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, EveryMaskTest,
                         testing::ValuesIn(KernelsOfAnyType()),
                         [](const auto& info) { return info.param.Name(); });

void ExpectSame(const AttentionResult& a, const AttentionResult& b) {
  EXPECT_TRUE(SameBits(a.out, b.out));
  EXPECT_TRUE(SameBits(a.lse, b.lse));
  EXPECT_TRUE(SameBits(a.weights, b.weights));
}

// Neither everything nor nothing may be hidden, or the tests would test little.
bool SomeWeights(const AttentionResult& result) {
  const Tensor weights = Converted(result.weights, DType::kF64);
  int64_t some = 0;
  for (int64_t i = 0; i < weights.NumElements(); ++i) {
    some += weights.As<double>()[i] != 0;
  }
  return some > 1000;
}

// pytorch#93542: results that depend on the number of threads.
TEST_P(EveryMaskTest, ThreadsAndBatches) {
  for (const DType dtype : Types()) {
    const bool all_threads = dtype == Type() && !Slow();
    const EveryMaskArrays arrays(dtype);
    for (const std::string& mask : EveryMask()) {
      SCOPED_TRACE(std::string(Name(dtype)) + " " + mask);
      const AttentionProblem problem = arrays.Problem(mask);
      const AttentionResult all = Run(problem);
      EXPECT_TRUE(SomeWeights(all));
      for (const int threads : {2, 3, 5, 8}) {
        if (!all_threads && threads != 3) continue;
        ExpectSame(Run(problem, threads), all);
      }
      for (const int64_t b : {0, 1}) {
        const AttentionResult alone = Run(arrays.Problem(mask, b, b + 1), 2);
        EXPECT_TRUE(SameBits(alone.out, all.out.view().Slice(0, b, b + 1)));
        EXPECT_TRUE(SameBits(alone.lse, all.lse.view().Slice(0, b, b + 1)));
        EXPECT_TRUE(
            SameBits(alone.weights, all.weights.view().Slice(0, b, b + 1)));
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(EveryMaskTest, Strides) {
  for (const DType dtype : Types()) {
    const EveryMaskArrays arrays(dtype);
    const EveryMaskArrays rearranged = arrays.Rearranged();
    for (const std::string& mask : EveryMask()) {
      SCOPED_TRACE(std::string(Name(dtype)) + " " + mask);
      ExpectSame(Run(rearranged.Problem(mask)), Run(arrays.Problem(mask)));
    }
  }
}

// Each host thread starts with another mask.
TEST_P(EveryMaskTest, EightHostThreadsAtOnce) {
  const EveryMaskArrays arrays(Type());
  std::vector<AttentionResult> expected;
  for (const std::string& mask : EveryMask()) {
    expected.push_back(Run(arrays.Problem(mask)));
  }
  std::vector<std::thread> hosts;
  std::atomic<int> different{0};
  for (size_t host = 0; host < 8; ++host) {
    hosts.emplace_back([&, host] {
      for (size_t i = 0; i < (Slow() ? 4 : EveryMask().size()); ++i) {
        const size_t at = (i + 2 * host) % EveryMask().size();
        const AttentionResult result =
            Run(arrays.Problem(EveryMask()[at]), static_cast<int>(host % 4));
        different += !SameBits(result.out, expected[at].out) ||
                     !SameBits(result.lse, expected[at].lse) ||
                     !SameBits(result.weights, expected[at].weights);
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(different, 0);
}

// From a sink, from a mask of the caller's own (whose answers may cost what
// they like), and from the host's parallel region on Regard's pool.
class MaskThatAttends : public MaskFunction {
 public:
  MaskThatAttends(const AttentionProblem& inner,
                  const AttentionOptions& options, const TensorView& expected)
      : inner_(inner), options_(options), expected_(expected) {}
  bool Allows(const MaskFrame&, int64_t, int64_t) const noexcept override {
    std::call_once(once_, [&] {
      same_ =
          static_cast<bool>(SameBits(Attend(inner_, options_).out, expected_));
    });
    return true;
  }
  bool same() const { return same_; }

 private:
  AttentionProblem inner_;
  AttentionOptions options_;
  TensorView expected_;
  mutable std::once_flag once_;
  mutable bool same_ = false;
};

TEST_P(EveryMaskTest, NestedCalls) {
  const EveryMaskArrays arrays(Type());
  const AttentionProblem problem = arrays.Problem("causal");
  const AttentionProblem inner = arrays.Problem("window", 1, 2);
  const AttentionResult expected = Run(inner), outer = Run(problem);
  const AttentionOptions options = OptionsFor(GetParam(), 3);

  std::atomic<int> calls{0}, different{0};
  ForEachWeightTile(problem, options, [&](const WeightTile& tile) {
    if (tile.query_begin % 40 != 0 || tile.key_begin != 0) return;
    ++calls;
    different += !SameBits(Attend(inner, options).out, expected.out);
  });
  EXPECT_GT(calls, 0);

  const auto mask =
      std::make_shared<MaskThatAttends>(inner, options, expected.out);
  AttentionProblem with_mask = problem;
  with_mask.mask = with_mask.mask & Mask::Custom(mask);
  ExpectSame(Attend(with_mask, options), outer);
  EXPECT_TRUE(mask->same());

  ParallelFor(6, 3, [&](int64_t, int) {
    different += !SameBits(Attend(inner, options).out, expected.out);
  });
  EXPECT_EQ(different, 0);
}

// A pool of the host in which loops start late and in turn.
class SlowPool : public ThreadPool {
 public:
  int threads() const noexcept override { return 5; }
  void Run(int loops, const std::function<void(int)>& loop) override {
    std::thread other([&] {
      for (int i = loops - 1; i >= loops / 2; --i) loop(i);
    });
    for (int i = 0; i < loops / 2; ++i) loop(i);
    other.join();
  }
};

TEST_P(EveryMaskTest, AHostsPool) {
  const EveryMaskArrays arrays(Type());
  for (const std::string& mask : EveryMask()) {
    SCOPED_TRACE(mask);
    const AttentionProblem problem = arrays.Problem(mask);
    const AttentionResult own = Run(problem, 2);
    SetThreadPool(std::make_shared<SlowPool>());
    const AttentionResult hosted = Run(problem, 0);
    SetThreadPool(nullptr);
    ExpectSame(hosted, own);
  }
}

}  // namespace
}  // namespace regard::inline v0
