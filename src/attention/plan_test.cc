// Plans: what is chosen and why, memory, and a Run that allocates nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "regard/attention.h"
#include "regard/kv_cache.h"
#include "regard/threads.h"
#include "tests/support/allocations.h"
#include "tests/support/compare.h"
#include "tests/support/every_mask.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

using testing::HasSubstr;

constexpr const char* kBF16Level = "AVX3_BF16";

class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    problem_.q = q_;
    problem_.k = k_;
    problem_.v = v_;
    outputs_.out = out_.mutable_view();
  }

  std::string Message(const AttentionOptions& options) {
    try {
      AttentionPlan plan(problem_, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  Tensor q_{DType::kF32, {1, 4, 100, 16}};
  Tensor k_{DType::kF32, {1, 2, 100, 16}};
  Tensor v_{DType::kF32, {1, 2, 100, 16}};
  Tensor out_{DType::kF32, {1, 4, 100, 16}};
  AttentionProblem problem_;
  AttentionOutputs outputs_;
};

TEST_F(PlanTest, NamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(KernelNames().back(), "reference");
  EXPECT_THAT(Message({.kernel = "fast"}), HasSubstr("flash, reference"));
  EXPECT_THAT(Message({.instruction_set = "AVX5"}),
              HasSubstr(UsableInstructionSets().front()));
}

// For tests of how the fast kernels share the work: without vectors the
// reference has it all.
#define SKIP_WITHOUT_VECTORS()                        \
  if (!HasVectors(UsableInstructionSets().front())) { \
    GTEST_SKIP() << "no vectors on this machine";     \
  }

TEST_F(PlanTest, NegativeNumbersOfThreadsAreRefused) {
  EXPECT_EQ(Message({.threads = -1}),
            "AttentionPlan: threads: -1 is negative: use 0 for all cores");
}

TEST_F(PlanTest, EveryRefusalHasAReason) {
  const std::string narrowest = BuiltInstructionSets().back();
  if (HasVectors(narrowest)) GTEST_SKIP() << narrowest << " serves them all";
  const AttentionPlan plan(problem_, {.instruction_set = narrowest});
  EXPECT_EQ(plan.kernel(), "reference");
  EXPECT_THAT(plan.Describe(),
              HasSubstr("flash: no vectors in instruction set " + narrowest));
  EXPECT_THAT(plan.Describe(), HasSubstr("reference: chosen"));
  EXPECT_THAT(Message({.kernel = "flash", .instruction_set = narrowest}),
              HasSubstr("no vectors"));
}

// The choice depends on the query length (and type, sizes, instruction set), on
// nothing else.
TEST_F(PlanTest, ShortQueriesAreReadInPlace) {
  SKIP_WITHOUT_VECTORS();
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const int64_t heads : {1, 2, 64}) {
      for (const int64_t queries : {1, 16, 17}) {
        const Tensor q(dtype, {3, heads, queries, 40});
        const Tensor k(dtype, {3, 1, 600, 40});
        problem_.q = q;
        problem_.k = problem_.v = k;
        const AttentionPlan plan(problem_);
        EXPECT_EQ(plan.kernel(), queries <= 16 ? "decode" : "flash");
        if (queries <= 16) continue;
        EXPECT_THAT(plan.Describe(), HasSubstr("decode: 17 queries"));
      }
    }
  }
}

// 100 rows in strips against one block of 100 keys, 4 heads.
TEST_F(PlanTest, TilesAreCounted) {
  const AttentionPlan plan(problem_, {.kernel = "reference"});
  problem_.mask = Mask::Causal();
  TileCounts counts = plan.CountTiles(problem_);
  EXPECT_EQ(counts.empty, 0);
  EXPECT_EQ(counts.full, 4);  // the last row of each head
  EXPECT_EQ(counts.mixed, 4 * 99);
  problem_.mask = Mask::Lengths({30}, {});
  counts = plan.CountTiles(problem_);
  EXPECT_EQ(counts.empty, 4 * 70);
  EXPECT_EQ(counts.full, 4 * 30);
  EXPECT_EQ(counts.mixed, 0);
}

// Of 1024 x 1024 scores, the upper right 512 x 512 are hidden.
TEST_F(PlanTest, TilesAreThoseOfTheKernel) {
  const Tensor long_q(DType::kF32, {1, 1, 1024, 16});
  problem_.q = problem_.k = problem_.v = long_q;
  for (const KernelOnTarget& kernel : AllKernels()) {
    if (kernel.kernel != "flash") continue;
    SCOPED_TRACE(kernel.Name());
    const AttentionPlan plan(problem_, OptionsFor(kernel));
    const TileCounts full = plan.CountTiles(problem_);
    EXPECT_EQ(full.empty + full.mixed, 0);
    EXPECT_EQ(full.full % 2, 0);
    AttentionProblem causal = problem_;
    causal.mask = Mask::Causal();
    const TileCounts counts = plan.CountTiles(causal);
    EXPECT_EQ(counts.empty + counts.full + counts.mixed, full.full);
    const double strips = static_cast<double>(full.full / 2);
    // Rows before 512 don't see block 1; those from 512 on see all of block 0.
    EXPECT_NEAR(static_cast<double>(counts.empty), strips / 2, 1);
    EXPECT_NEAR(static_cast<double>(counts.full), strips / 2, 2);
  }
}

// Nothing of k and v is packed.
TEST_F(PlanTest, ScratchOfDecodingIsSmall) {
  const float one = 1;
  problem_.q = TensorView(&one, DType::kF32, {1, 32, 1, 128}, {0, 0, 0, 0});
  problem_.k = problem_.v =
      TensorView(&one, DType::kF32, {1, 8, 16384, 128}, {0, 0, 0, 0});
  EXPECT_LT(AttentionPlan(problem_, {.threads = 1}).scratch_bytes(), 1000000u);
}

TEST_F(PlanTest, TheForcedInstructionSetIsTheOneThatRuns) {
  // The plan's name comes from inside the code built for that set.
  std::vector<std::string> forced, expected;
  for (const KernelOnTarget& kernel : AllKernels()) {
    const AttentionPlan plan(problem_, OptionsFor(kernel));
    EXPECT_EQ(plan.instruction_set(), kernel.instruction_set);
    if (kernel.kernel == "flash") forced.push_back(kernel.instruction_set);
  }
  for (const std::string& isa : UsableInstructionSets()) {
    if (HasVectors(isa) && isa != kBF16Level) expected.push_back(isa);
  }
  EXPECT_EQ(forced, expected);
}

// The level with the dot product of bf16 serves q, k and v of that type, and is
// AVX3 for all others.
TEST_F(PlanTest, TheDotProductOfBF16) {
  SKIP_WITHOUT_VECTORS();
  const Tensor brain(DType::kBF16, {1, 2, 100, 16});
  problem_.q = brain;
  EXPECT_THAT(AttentionPlan(problem_).Describe(),
              HasSubstr("flash_bf16: k is f32, not bf16"));
  problem_.k = problem_.v = brain;
  const std::vector<std::string> usable = UsableInstructionSets();
  const bool has = usable.front() == kBF16Level;
  for (const std::string& isa : usable) {
    const AttentionPlan plan(problem_, {.instruction_set = isa});
    if (isa == kBF16Level) {
      EXPECT_EQ(plan.kernel(), "flash_bf16");
      EXPECT_EQ(plan.instruction_set(), isa);
      EXPECT_THAT(plan.Describe(), HasSubstr("flash: slower than flash_bf16"));
    } else {
      EXPECT_NE(plan.kernel(), "flash_bf16");
      EXPECT_THAT(plan.Describe(),
                  HasSubstr("flash_bf16: no dot product of bf16 in instruction "
                            "set " +
                            isa));
    }
  }
  EXPECT_EQ(AttentionPlan(problem_, {.kernel = "flash"}).instruction_set(),
            has ? "AVX3" : usable.front());
  problem_.q = brain.view().Slice(2, 0, 16);
  const AttentionPlan few(problem_);
  EXPECT_EQ(few.kernel(), has ? "decode_bf16" : "decode");
  EXPECT_THAT(few.Describe(),
              HasSubstr(has ? "decode: slower than decode_bf16"
                            : "decode_bf16: no dot product of bf16"));
  EXPECT_EQ(AttentionPlan(problem_, {.kernel = "decode"}).instruction_set(),
            has ? "AVX3" : usable.front());
  const Tensor half(DType::kF16, {1, 2, 100, 16});
  problem_.v = half;
  EXPECT_THAT(AttentionPlan(problem_).Describe(),
              HasSubstr("decode_bf16: v is f16, not bf16"));
}

TEST_F(PlanTest, TheCapIsObeyed) {
  const std::vector<std::string> usable = UsableInstructionSets();
  const char* before = std::getenv("REGARD_MAX_ISA");
  const std::string saved = before == nullptr ? "" : before;
  for (const std::string& cap : usable) {
    setenv("REGARD_MAX_ISA", cap.c_str(), 1);
    // On f32, the level with the bf16 dot product is AVX3.
    EXPECT_EQ(AttentionPlan(problem_).instruction_set(),
              cap == kBF16Level ? "AVX3" : cap);
    EXPECT_EQ(UsableInstructionSets().front(), cap);
  }
  setenv("REGARD_MAX_ISA", "fastest", 1);
  EXPECT_THAT(Message({}), HasSubstr("REGARD_MAX_ISA"));
  if (saved.empty()) {
    unsetenv("REGARD_MAX_ISA");
  } else {
    setenv("REGARD_MAX_ISA", saved.c_str(), 1);
  }
}

// On Regard's threads and on the host's.
TEST_F(PlanTest, RunAllocatesNothing) {
  class CallingThread : public ThreadPool {
   public:
    int threads() const noexcept override { return 3; }
    void Run(int loops, const std::function<void(int)>& loop) override {
      for (int i = 0; i < loops; ++i) loop(i);
    }
  };
  const auto pool = std::make_shared<CallingThread>();
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const EveryMaskArrays arrays(dtype);
    for (const std::string& mask : EveryMask()) {
      const AttentionProblem problem = arrays.Problem(mask);
      AttentionResult result = Attend(problem, {.lse = true, .weights = true});
      const AttentionOutputs outputs = {result.out.mutable_view(),
                                        result.lse.mutable_view(),
                                        result.weights.mutable_view()};
      for (const KernelOnTarget& kernel : AllKernels(dtype)) {
        // What masks do doesn't depend on the type.
        if (dtype != TypeFor(kernel.kernel) && mask != "all") continue;
        AttentionPlan plan(problem, OptionsFor(kernel, 2));
        plan.Run(problem, outputs);  // starts the threads
        int64_t before = Allocations();
        plan.Run(problem, outputs);
        EXPECT_EQ(Allocations() - before, 0) << kernel.Name() << " " << mask;
        SetThreadPool(pool);
        before = Allocations();
        plan.Run(problem, outputs);
        EXPECT_EQ(Allocations() - before, 0) << kernel.Name() << " " << mask;
        SetThreadPool(nullptr);
      }
    }
  }
}

TEST_F(PlanTest, RunTakesTheSameShapesAndAnyMask) {
  AttentionPlan plan(problem_);
  plan.Run(problem_, outputs_);
  problem_.mask = Mask::Causal();
  plan.Run(problem_, outputs_);
  EXPECT_TRUE(SameBits(out_, Attend(problem_).out));
  const Tensor longer(DType::kF32, {1, 4, 101, 16});
  problem_.q = longer;
  EXPECT_THROW(plan.Run(problem_, outputs_), Error);
}

// One plan for keys that grow, and for fewer sequences.
TEST_F(PlanTest, RunTakesWhatIsSmaller) {
  const Tensor q(DType::kF32, {3, 4, 2, 16}), k(DType::kF32, {3, 2, 90, 16});
  int64_t lengths[3] = {1, 0, 7};
  problem_.q = q;
  problem_.k = problem_.v = k;
  problem_.key_lengths = TensorView(lengths, {3});
  problem_.query_offset = QueryOffset::BottomRight();
  problem_.mask = Mask::Causal();
  for (const KernelOnTarget& kernel : AllKernels()) {
    AttentionPlan plan(problem_, OptionsFor(kernel));
    for (const int64_t sequences : {3, 1}) {
      for (const int64_t length : {0, 1, 50, 90}) {
        lengths[0] = lengths[2] = length;
        AttentionProblem p = problem_;
        p.q = q.view().Slice(0, 0, sequences);
        p.k = p.v = k.view().Slice(0, 0, sequences);
        p.key_lengths = TensorView(lengths, {sequences});
        Tensor out(DType::kF32, p.q.shape);
        outputs_.out = out.mutable_view();
        plan.Run(p, outputs_);
        EXPECT_TRUE(SameBits(out, Attend(p, OptionsFor(kernel)).out));
      }
    }
  }
}

TEST_F(PlanTest, RunRefusesWhatIsLarger) {
  SKIP_WITHOUT_VECTORS();
  AttentionPlan plan(problem_);
  const auto message = [&](const AttentionProblem& p) -> std::string {
    Tensor out(DType::kF32, {p.q.shape[0], p.q.shape[1], p.q.shape[2], 16});
    outputs_.out = out.mutable_view();
    try {
      plan.Run(p, outputs_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Tensor longer(DType::kF32, {1, 2, 101, 16});
  AttentionProblem p = problem_;
  p.k = p.v = longer;
  EXPECT_THAT(message(p), HasSubstr("k: 101 keys are more than the 100"));
  const Tensor two(DType::kF32, {2, 4, 33, 16}),
      keys(DType::kF32, {2, 2, 33, 16});
  p.q = two;
  p.k = p.v = keys;
  EXPECT_THAT(message(p), HasSubstr("q: 2 sequences are more than the 1"));
  p.q = two.view().Slice(0, 0, 1);
  p.k = p.v = keys.view().Slice(0, 0, 1);
  EXPECT_EQ(message(p), "no error");
  p.q = two.view().Slice(0, 0, 1).Slice(2, 0, 16);
  EXPECT_THAT(message(p),
              HasSubstr("two kernels, of which the plan has flash"));
  p = problem_;
  p.q = q_.view().Slice(1, 0, 2);
  EXPECT_THAT(message(p),
              HasSubstr("q: 2 heads of size 16 are not the planned 4 of"));
}

// Prompts and tokens in one call: each by the kernel that it would get alone.
TEST_F(PlanTest, LongAndShortSequencesHaveAKernelEach) {
  SKIP_WITHOUT_VECTORS();
  const int64_t starts[4] = {0, 1, 99, 100};
  problem_.query_starts = problem_.key_starts = TensorView(starts, {4});
  const AttentionPlan plan(problem_);
  EXPECT_EQ(plan.kernel(), "decode+flash");
  EXPECT_THAT(plan.Describe(),
              HasSubstr("decode_bf16: q is f32, not bf16\n"
                        "decode: chosen for up to 16 queries\n"
                        "flash_bf16: q is f32, not bf16\n"
                        "flash: chosen for more than 16 queries\n"
                        "reference: slower than flash"));
  EXPECT_THAT(plan.Describe(), HasSubstr("tiles: decode: "));
  const std::string narrowest = BuiltInstructionSets().back();
  if (HasVectors(narrowest)) return;
  const AttentionPlan slow(problem_, {.instruction_set = narrowest});
  EXPECT_EQ(slow.kernel(), "reference");
  EXPECT_THAT(slow.Describe(), HasSubstr("reference: chosen\n"));
}

TEST_F(PlanTest, RunOnSequencesAllocatesNothing) {
  const int64_t starts[4] = {0, 1, 99, 100};
  const int64_t lengths[3] = {100, 98, 1}, table[6] = {3, 0, 1, 5, 2, 0};
  const Tensor pages(DType::kF32, {6, 2, 50, 16});
  problem_.k = problem_.v = pages;
  problem_.query_starts = TensorView(starts, {4});
  problem_.key_lengths = TensorView(lengths, {3});
  problem_.block_table = TensorView(table, {3, 2});
  for (const int threads : {1, 2}) {
    AttentionPlan plan(problem_, {.threads = threads});
    plan.Run(problem_, outputs_);
    const int64_t before = Allocations();
    for (int i = 0; i < 10; ++i) plan.Run(problem_, outputs_);
    EXPECT_EQ(Allocations() - before, 0) << threads;
  }
}

// Tokens one by one, through every kind of cache, by one plan for all lengths.
TEST_F(PlanTest, ADecodedTokenAllocatesNothing) {
  const KvCacheSizes sizes = {.sequences = 3,
                              .kv_heads = 2,
                              .key_size = 16,
                              .value_size = 16,
                              .dtype = DType::kBF16};
  std::vector<KvCache> caches;
  caches.push_back(KvCache::Contiguous(sizes, 600));
  caches.push_back(KvCache::Ring(sizes, 50, 4, 8));
  caches.push_back(KvCache::Paged(sizes, 600, 150, 16));
  const Tensor q(DType::kF32, {3, 4, 1, 16});
  const Tensor row(DType::kF32, {3, 2, 1, 16});
  Tensor out(DType::kF32, {3, 4, 1, 16});
  outputs_.out = out.mutable_view();
  for (KvCache& cache : caches) {
    AttentionProblem p;
    p.q = q;
    p.query_offset = QueryOffset::BottomRight();
    p.mask = Mask::Window(50, 0, 4);
    cache.Bind(p);
    AttentionPlan plan(p, {.threads = 2});
    const size_t bytes = cache.bytes();
    cache.Append(row, row);
    plan.Run(p, outputs_);  // starts the threads
    const int64_t before = Allocations();
    for (int i = 0; i < 599; ++i) {
      cache.Append(row, row);
      plan.Run(p, outputs_);
      if (i % 100 != 5) continue;
      cache.Trim(1, 0);
      cache.Fork(0, 1);
    }
    EXPECT_EQ(Allocations() - before, 0);
    EXPECT_EQ(cache.bytes(), bytes);
    EXPECT_EQ(cache.length(2), 600);
  }
}

// Hundreds of sequences take no more scratch than a wave, and a list.
TEST_F(PlanTest, ScratchOfManySequences) {
  const float one = 1;
  std::vector<int64_t> starts = {0};
  for (int64_t s = 0; s < 500; ++s) {
    starts.push_back(starts.back() + 1 + s * 7919 % 2000);
  }
  problem_.q = problem_.k = problem_.v =
      TensorView(&one, DType::kF32, {1, 8, starts.back(), 128}, {0, 0, 0, 0});
  problem_.query_starts = problem_.key_starts =
      TensorView(starts.data(), {501});
  EXPECT_LT(AttentionPlan(problem_, {.threads = 2}).scratch_bytes(), 20000000u);
}

TEST_F(PlanTest, MemoryThatIsNotThereIsAnErrorBeforeWork) {
  // A petabyte of packed keys behind a stride of 0.
  const float one = 1;
  const int64_t keys = int64_t{1} << 46;
  problem_.k = TensorView(&one, DType::kF32, {1, 2, keys, 16}, {0, 0, 0, 0});
  problem_.v = TensorView(&one, DType::kF32, {1, 2, keys, 16}, {0, 0, 0, 0});
  try {
    AttentionPlan plan(problem_);
    FAIL() << "a petabyte was given";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_THAT(error.what(), HasSubstr("scratch"));
  }
  // More than 64 bits count.
  const int64_t more = int64_t{1} << 60;
  problem_.k = TensorView(&one, DType::kF32, {1, 2, more, 16}, {0, 0, 0, 0});
  problem_.v = TensorView(&one, DType::kF32, {1, 2, more, 16}, {0, 0, 0, 0});
  EXPECT_THROW(AttentionPlan{problem_}, Error);
}

TEST_F(PlanTest, ScratchIsLinearInTheLength) {
  const float one = 1;
  const auto scratch = [&](int64_t length) {
    AttentionProblem p;
    p.q = p.k = p.v =
        TensorView(&one, DType::kF32, {1, 64, length, 64}, {0, 0, 0, 0});
    return static_cast<double>(
        AttentionPlan(p, {.threads = 1}).scratch_bytes());
  };
  EXPECT_LT(scratch(1 << 16), 80e6);
  EXPECT_LT(scratch(1 << 19) / scratch(1 << 18), 2.1);
}

// mlx#2894, pytorch#187227: a boolean mask of more than 2^32 elements, of which
// a window reads the diagonal.
TEST_F(PlanTest, RowsPastTwoToThe32) {
  constexpr int64_t kLength = 65537;
  Tensor x(DType::kF32, {1, 1, kLength, 1});
  for (int64_t i = 0; i < kLength; ++i) {
    x.AsMutable<float>()[i] = static_cast<float>(i % 1000) / 500;
  }
  const uint8_t yes = 1;
  AttentionProblem p;
  p.q = p.k = p.v = x;
  p.mask = Mask::Window(3, 0);
  const Tensor without = Attend(p).out.Clone();
  p.mask = p.mask & Mask::Boolean(TensorView(&yes, DType::kU8,
                                             {kLength, kLength}, {0, 0}));
  EXPECT_TRUE(SameBits(Attend(p).out, without));
  // The last rows alone.
  p.mask = Mask::Window(3, 0);
  p.q = x.view().Slice(2, kLength - 2, kLength);
  p.query_offset = QueryOffset::BottomRight();
  EXPECT_TRUE(
      SameBits(Attend(p).out, without.view().Slice(2, kLength - 2, kLength)));
}

}  // namespace
}  // namespace regard::inline v0
