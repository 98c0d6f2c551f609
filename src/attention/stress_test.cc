// A process that calls for a long time from eight threads: the same bits at
// every call, and no more memory at the end than after the first ones.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "regard/attention.h"
#include "tests/support/allocations.h"
#include "tests/support/attention_case.h"
#include "tests/support/compare.h"
#include "tests/support/every_mask.h"

namespace regard::inline v0 {
namespace {

constexpr int kHosts = 8;

// Calls of each host thread: REGARD_STRESS_CALLS, or a few.
int CallsPerHost() {
  const char* text = std::getenv("REGARD_STRESS_CALLS");
  return text == nullptr ? 60 : std::atoi(text);
}

// A call and the bits it gives.
struct Work {
  AttentionProblem problem;
  AttentionOptions options;
  AttentionResult expected;
};

bool Same(const AttentionResult& a, const AttentionResult& b) {
  return SameBits(a.out, b.out) && SameBits(a.lse, b.lse) &&
         SameBits(a.weights, b.weights);
}

// One of the ways to compute it; whether it is what was expected.
bool Call(const Work& work, int way) {
  AttentionOptions options = work.options;
  options.threads = 1 + way % 3;
  if (way % 4 == 0) {
    AttentionPlan plan(work.problem, options);
    Tensor out(work.expected.out.dtype(), work.expected.out.shape());
    for (int i = 0; i < 2; ++i) {
      plan.Run(work.problem, {out.mutable_view(), {}, {}});
    }
    return SameBits(out, work.expected.out);
  }
  if (way % 4 == 1 && work.problem.q.dtype == DType::kF32) {
    std::atomic<bool> same{true};
    const TensorView& weights = work.expected.weights.view();
    ForEachWeightTile(work.problem, options, [&](const WeightTile& tile) {
      const float* row = weights.As<float>() + tile.batch * weights.strides[0] +
                         tile.head * weights.strides[1] +
                         tile.query_begin * weights.strides[2];
      for (int64_t j = tile.key_begin; j < tile.key_end; ++j) {
        if (row[j] != tile.weights[j - tile.key_begin]) same = false;
      }
    });
    return same;
  }
  if (way % 4 == 2) {
    AttentionProblem wrong = work.problem;
    wrong.scale = std::numeric_limits<double>::quiet_NaN();
    try {
      Attend(wrong, options);
      return false;
    } catch (const Error&) {
      return true;
    }
  }
  return Same(Attend(work.problem, options), work.expected);
}

TEST(StressTest, EightThreadsWithDifferentShapes) {
  std::vector<EveryMaskArrays> arrays;
  arrays.emplace_back(DType::kF32);
  arrays.emplace_back(DType::kBF16);
  std::vector<std::unique_ptr<AttentionCase>> cases;
  std::vector<Work> list;
  const auto add = [&](const AttentionProblem& problem) {
    AttentionOptions options;
    options.lse = options.weights = true;
    list.push_back({problem, options, Attend(problem, options)});
  };
  for (uint64_t seed = 0; seed < 24; ++seed) {
    cases.push_back(std::make_unique<AttentionCase>(
        CaseRequest{.seed = seed,
                    .dtype = seed % 3 == 0 ? DType::kF64 : DType::kF32,
                    .odd_layouts = true}));
    add(cases.back()->problem());
  }
  for (const EveryMaskArrays& one : arrays) {
    for (const char* mask : {"causal", "bits", "all"}) add(one.Problem(mask));
  }

  std::atomic<int> wrong{0};
  const auto round = [&](int calls) {
    std::vector<std::thread> hosts;
    for (int host = 0; host < kHosts; ++host) {
      hosts.emplace_back([&, host] {
        for (int i = 0; i < calls; ++i) {
          const int at = host * 1000 + i * 7;
          wrong += !Call(list[static_cast<size_t>(at) % list.size()], at + i);
        }
      });
    }
    for (std::thread& host : hosts) host.join();
  };
  round(10);
  const int64_t before = LiveAllocations();
  round(CallsPerHost());
  EXPECT_EQ(LiveAllocations(), before);
  EXPECT_EQ(wrong, 0);
}

// pybind11#1075: a little lost at every call.
TEST(StressTest, TenThousandCallsAndTenThousandErrors) {
  const Tensor x(DType::kF32, {1, 2, 3, 4});
  AttentionProblem problem;
  problem.q = problem.k = problem.v = x;
  problem.mask = Mask::Causal() & Mask::Lengths({2}, {3});
  const AttentionOptions options = {.lse = true, .weights = true, .threads = 1};
  const auto good = [&] { Attend(problem, options); };
  const auto bad = [&] {
    AttentionProblem wrong = problem;
    wrong.mask = wrong.mask & Mask::Window(0, 0);
    EXPECT_THROW(Attend(wrong, options), Error);
  };
  good();
  bad();
  const int64_t before = LiveAllocations();
  for (int i = 0; i < 10000; ++i) good();
  EXPECT_EQ(LiveAllocations(), before);
  for (int i = 0; i < 10000; ++i) bad();
  EXPECT_EQ(LiveAllocations(), before);
}

}  // namespace
}  // namespace regard::inline v0
