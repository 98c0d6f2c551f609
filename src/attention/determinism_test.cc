// The same bits from every kernel on every instruction set, whatever surrounds
// the problem: other heads, other queries, strides, the form of the mask,
// requests for weights, the host's floating-point state, a fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "base/parallel_for.h"
#include "tests/support/attention_case.h"
#include "tests/support/compare.h"
#include "tests/support/float_control.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

class DeterminismTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  static DType Type() { return TypeFor(GetParam().kernel); }
  AttentionResult Run(const AttentionProblem& problem, int threads = 1) {
    return Attend(problem, OptionsFor(GetParam(), threads));
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, DeterminismTest,
                         testing::ValuesIn(AllKernels(DType::kBF16)),
                         [](const auto& info) { return info.param.Name(); });

void ExpectSame(const AttentionResult& a, const AttentionResult& b) {
  EXPECT_TRUE(SameBits(a.out, b.out));
  EXPECT_TRUE(SameBits(a.lse, b.lse));
  EXPECT_TRUE(SameBits(a.weights, b.weights));
}

Tensor Random(const Dims& shape, uint32_t seed, DType dtype) {
  Tensor tensor(DType::kF32, shape);
  uint32_t state = seed;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    state = state * 1664525 + 1013904223;
    tensor.AsMutable<float>()[i] =
        static_cast<float>(state >> 8) / (1 << 22) - 2;
  }
  return Converted(tensor, dtype);
}

// Two query blocks and two key blocks; 2 batch entries, 4 heads on 2.
constexpr int64_t kQueries = 227;
struct Problem {
  explicit Problem(DType dtype)
      : q(Random({2, 4, kQueries, 24}, 1, dtype)),
        k(Random({2, 2, 530, 24}, 2, dtype)),
        v(Random({2, 2, 530, 20}, 3, dtype)) {}
  Tensor q, k, v;
  AttentionProblem View(const Mask& mask = {}) const {
    AttentionProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    p.mask = mask;
    p.query_offset = QueryOffset::BottomRight();
    return p;
  }
};

TEST_P(DeterminismTest, BatchAndHeads) {
  const Problem problem(Type());
  const AttentionResult all = Run(problem.View());
  for (const int64_t b : {0, 1}) {
    for (const int64_t h : {0, 3}) {
      AttentionProblem alone;
      alone.q = problem.q.view().Slice(0, b, b + 1).Slice(1, h, h + 1);
      alone.k = problem.k.view().Slice(0, b, b + 1).Slice(1, h / 2, h / 2 + 1);
      alone.v = problem.v.view().Slice(0, b, b + 1).Slice(1, h / 2, h / 2 + 1);
      const AttentionResult one = Run(alone);
      const auto part = [&](const Tensor& t) {
        return t.view().Slice(0, b, b + 1).Slice(1, h, h + 1);
      };
      EXPECT_TRUE(SameBits(one.out, part(all.out)));
      EXPECT_TRUE(SameBits(one.lse, part(all.lse)));
      EXPECT_TRUE(SameBits(one.weights, part(all.weights)));
    }
  }
}

// A query's result does not depend on which other queries are asked.
TEST_P(DeterminismTest, Queries) {
  const Problem problem(Type());
  const AttentionResult all = Run(problem.View());
  for (const int64_t begin : {0, 5, 226}) {
    AttentionProblem some = problem.View();
    some.q = problem.q.view().Slice(2, begin, kQueries);
    EXPECT_TRUE(
        SameBits(Run(some).out, all.out.view().Slice(2, begin, kQueries)));
  }
}

// A window of so many queries that they are several tasks, each of which packs
// what it sees; some queries alone are one. With values that aren't finite,
// too.
TEST_P(DeterminismTest, QueriesOfAWindow) {
  constexpr int64_t kLength = 560, kSize = 256;
  const Tensor q = Random({1, 2, kLength, kSize}, 4, Type());
  const Tensor k = Random({1, 1, kLength, kSize}, 5, Type());
  Tensor wide = Random({1, 1, kLength, kSize}, 6, DType::kF32);
  for (const bool finite : {true, false}) {
    if (!finite) {
      wide.AsMutable<float>()[300 * kSize + 7] = HUGE_VALF;
      wide.AsMutable<float>()[530 * kSize + 255] = -HUGE_VALF;
    }
    const Tensor v = Converted(wide, Type());
    AttentionProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    p.mask = Mask::Causal() & Mask::Window(60, std::nullopt);
    const AttentionResult all = Run(p);
    ExpectSame(Run(p, 3), all);
    for (const auto& [begin, end] :
         {std::pair<int64_t, int64_t>{0, 50}, {250, 370}, {510, kLength}}) {
      SCOPED_TRACE(begin);
      p.q = q.view().Slice(2, begin, end);
      p.query_offset = QueryOffset::At(begin);
      const AttentionResult some = Run(p);
      EXPECT_TRUE(SameBits(some.out, all.out.view().Slice(2, begin, end)));
      EXPECT_TRUE(SameBits(some.lse, all.lse.view().Slice(2, begin, end)));
    }
  }
}

// Two query blocks a head and work for many threads, so that blocks are dealt
// out whole and, towards the end, in parts.
TEST_P(DeterminismTest, Threads) {
  const Problem problem(Type());
  for (const Mask& mask : {Mask(), Mask::Causal()}) {
    const AttentionResult one = Run(problem.View(mask));
    for (const int threads : {2, 3, 5, 8}) {
      SCOPED_TRACE(threads);
      ExpectSame(Run(problem.View(mask), threads), one);
    }
  }
}

// pytorch#187506, FlagGems#5896: strides, transposed views, bit for bit.
TEST_P(DeterminismTest, Strides) {
  for (uint64_t seed = 500; seed < 530; ++seed) {
    const AttentionCase plain(
        {.seed = seed, .dtype = Type(), .odd_layouts = false});
    const AttentionCase odd(
        {.seed = seed, .dtype = Type(), .odd_layouts = true});
    SCOPED_TRACE(odd.description());
    ExpectSame(Run(odd.problem()), Run(plain.problem()));
  }
}

TEST_P(DeterminismTest, StrideZero) {
  const Problem problem(Type());
  AttentionProblem p = problem.View();
  p.k = problem.k.view().Slice(1, 0, 1);
  p.k.shape[1] = 2;
  p.k.strides[1] = 0;
  const Tensor copy = Tensor::CopyOf(p.k);
  const AttentionResult result = Run(p);
  p.k = copy;
  ExpectSame(result, Run(p));
}

// A mask of one's own: every third key, back from the query's position.
class Dilated : public MaskFunction {
 public:
  bool Allows(const MaskFrame& frame, int64_t query,
              int64_t key) const noexcept override {
    const int64_t distance = query + frame.offset - key;
    return distance >= 0 && distance % 3 == 0;
  }
  IndexRange Range(const MaskFrame& frame, IndexRange queries,
                   IndexRange keys) const noexcept override {
    return keys & IndexRange{0, queries.end + frame.offset};
  }
};

// Several ways to say the same thing.
TEST_P(DeterminismTest, FormOfTheMask) {
  const Problem problem(Type());
  const int64_t queries = kQueries, keys = 530, offset = keys - queries;
  std::vector<uint8_t> bytes(static_cast<size_t>(queries * keys));
  const auto fill = [&](const auto& visible) {
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t j = 0; j < keys; ++j) {
        bytes[static_cast<size_t>(i * keys + j)] = visible(i + offset, j);
      }
    }
    return Mask::Boolean(TensorView(bytes.data(), DType::kU8, {queries, keys}));
  };
  const AttentionResult full = Run(problem.View());
  ExpectSame(Run(problem.View(fill([](int64_t, int64_t) { return true; }))),
             full);
  ExpectSame(Run(problem.View(Mask::Window(keys, keys))), full);

  const AttentionResult causal = Run(problem.View(Mask::Causal()));
  ExpectSame(
      Run(problem.View(fill([](int64_t p, int64_t j) { return j <= p; }))),
      causal);
  ExpectSame(Run(problem.View(Mask::Window(std::nullopt, 0))), causal);

  const AttentionResult window = Run(problem.View(Mask::Window(40, 3)));
  ExpectSame(Run(problem.View(fill([](int64_t p, int64_t j) {
               return p - j < 40 && j - p <= 3;
             }))),
             window);

  const AttentionResult chunk = Run(problem.View(Mask::Chunk(150)));
  ExpectSame(Run(problem.View(fill(
                 [](int64_t p, int64_t j) { return p / 150 == j / 150; }))),
             chunk);

  const AttentionResult prefix = Run(problem.View(Mask::Prefix(420)));
  ExpectSame(Run(problem.View(
                 fill([](int64_t p, int64_t j) { return j < 420 || j <= p; }))),
             prefix);
  ExpectSame(Run(problem.View(Mask::Prefix(0))), causal);

  const AttentionResult kept = Run(problem.View(Mask::Window(40, 3, 5)));
  ExpectSame(Run(problem.View(fill([](int64_t p, int64_t j) {
               return (p - j < 40 || j < 5) && j - p <= 3;
             }))),
             kept);

  std::vector<int32_t> query_ids(kQueries), key_ids(530);
  for (int64_t j = 0; j < keys; ++j) {
    const int32_t id = j < 450 ? 1 : j < 520 ? 2 : 3;
    key_ids[static_cast<size_t>(j)] = id;
    if (j >= offset) query_ids[static_cast<size_t>(j - offset)] = id;
  }
  const Mask documents =
      Mask::Documents(TensorView(query_ids.data(), {queries}),
                      TensorView(key_ids.data(), {keys}));
  ExpectSame(Run(problem.View(fill([&](int64_t p, int64_t j) {
               return key_ids[static_cast<size_t>(p)] ==
                      key_ids[static_cast<size_t>(j)];
             }))),
             Run(problem.View(documents)));

  std::vector<uint8_t> layout(8 * 9), bits(kQueries * 67);
  for (size_t i = 0; i < layout.size(); ++i) layout[i] = i % 7 % 3 == 0;
  const auto sparse = [&](int64_t p, int64_t j) {
    return layout[static_cast<size_t>((p - offset) / 30 * 9 + j / 64)] != 0;
  };
  const AttentionResult block_sparse = Run(problem.View(Mask::BlockSparse(
      TensorView(layout.data(), DType::kU8, {8, 9}), 30, 64)));
  ExpectSame(Run(problem.View(fill(sparse))), block_sparse);
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      bits[static_cast<size_t>(i * 67 + j / 8)] |=
          static_cast<uint8_t>(sparse(i + offset, j) << (j % 8));
    }
  }
  ExpectSame(Run(problem.View(Mask::Bits(
                 TensorView(bits.data(), DType::kU8, {queries, 67})))),
             block_sparse);

  const Mask dilated = Mask::Custom(std::make_shared<Dilated>());
  ExpectSame(Run(problem.View(fill([](int64_t p, int64_t j) {
               return j <= p && (p - j) % 3 == 0;
             }))),
             Run(problem.View(dilated)));

  // Fewer keys: by lengths, by a pattern, and by shorter arrays.
  AttentionProblem shorter = problem.View();
  shorter.query_offset = QueryOffset::TopLeft();
  shorter.k = problem.k.view().Slice(2, 0, 517);
  shorter.v = problem.v.view().Slice(2, 0, 517);
  const AttentionResult few = Run(shorter);
  const AttentionResult lengths =
      Run(problem.View(Mask::Lengths({}, {517, 517})));
  EXPECT_TRUE(SameBits(lengths.out, few.out));
  EXPECT_TRUE(SameBits(lengths.lse, few.lse));
  const AttentionResult pattern =
      Run(problem.View(fill([](int64_t, int64_t j) { return j < 517; })));
  ExpectSame(pattern, lengths);
}

// pytorch#108503: sequences of a padded batch equal the sequences alone.
TEST_P(DeterminismTest, LengthsEqualSeparateCalls) {
  const Tensor q = Random({2, 2, 40, 16}, 4, Type()),
               k = Random({2, 2, 40, 16}, 5, Type());
  const Tensor v = Random({2, 2, 40, 16}, 6, Type());
  AttentionProblem padded;
  padded.q = q;
  padded.k = k;
  padded.v = v;
  padded.query_offset = QueryOffset::BottomRight();
  padded.mask = Mask::Causal() & Mask::Lengths({3, 17}, {33, 40});
  const AttentionResult both = Run(padded);
  const int64_t lengths[2][2] = {{3, 33}, {17, 40}};
  for (const int64_t b : {0, 1}) {
    AttentionProblem alone;
    alone.q = q.view().Slice(0, b, b + 1).Slice(2, 0, lengths[b][0]);
    alone.k = k.view().Slice(0, b, b + 1).Slice(2, 0, lengths[b][1]);
    alone.v = v.view().Slice(0, b, b + 1).Slice(2, 0, lengths[b][1]);
    alone.mask = Mask::Causal();
    alone.query_offset = QueryOffset::BottomRight();
    const TensorView part = both.out.view().Slice(0, b, b + 1);
    EXPECT_TRUE(SameBits(Run(alone).out, part.Slice(2, 0, lengths[b][0])));
    const Tensor padding = Tensor::CopyOf(part.Slice(2, lengths[b][0], 40));
    EXPECT_TRUE(SameBits(padding, Tensor(Type(), padding.shape())));
  }
}

TEST_P(DeterminismTest, AskingForMoreChangesNothing) {
  const Problem problem(Type());
  const AttentionProblem p = problem.View(Mask::Causal());
  AttentionOptions options = OptionsFor(GetParam());
  const AttentionResult all = Attend(p, options);
  options.lse = options.weights = false;
  const AttentionResult out = Attend(p, options);
  EXPECT_FALSE(out.lse.given());
  EXPECT_TRUE(SameBits(out.out, all.out));
}

// The tiles of ForEachWeightTile are the weights, and leave out only zeros.
TEST_P(DeterminismTest, WeightTilesAreTheWeights) {
  const Problem problem(Type());
  const AttentionProblem p =
      problem.View(Mask::Causal() & Mask::Window(100, 0));
  const AttentionResult all = Run(p);
  Tensor gathered(DType::kF32, all.weights.shape());
  std::vector<int64_t> last_key(2 * 4 * kQueries, -1);
  ForEachWeightTile(p, OptionsFor(GetParam(), 2), [&](const WeightTile& tile) {
    for (int64_t q = tile.query_begin; q < tile.query_end; ++q) {
      const int64_t row = (tile.batch * 4 + tile.head) * kQueries + q;
      // In order of keys, each once.
      int64_t& last = last_key[static_cast<size_t>(row)];
      EXPECT_GT(tile.key_begin, last);
      last = tile.key_end - 1;
      for (int64_t j = tile.key_begin; j < tile.key_end; ++j) {
        gathered.AsMutable<float>()[row * 530 + j] =
            tile.weights[(q - tile.query_begin) * tile.stride + j -
                         tile.key_begin];
      }
    }
  });
  EXPECT_TRUE(SameBits(gathered, all.weights));
}

// Denormal results; work enough for two threads.
struct DenormalProblem {
  explicit DenormalProblem(DType dtype)
      : q(Random({1, 2, 260, 8}, 7, dtype)),
        k(Random({1, 2, 260, 8}, 8, dtype)) {
    Tensor values = Random({1, 2, 260, 8}, 9, DType::kF32);
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      values.AsMutable<float>()[i] *= 1e-38f;
    }
    v = Converted(values, dtype);
    p.q = q;
    p.k = k;
    p.v = v;
  }
  Tensor q, k, v;
  AttentionProblem p;
};

TEST_P(DeterminismTest, FloatingPointStateOfTheHost) {
  const DenormalProblem problem(Type());
  const AttentionResult usual = Run(problem.p);
  const uint64_t before = FloatControl();
  for (const uint64_t state : kHostileFloatControls) {
    const uint64_t hostile = before | state;
    SetFloatControl(hostile);
    const AttentionResult result = Run(problem.p);
    const uint64_t after = FloatControl();
    SetFloatControl(before);
    EXPECT_EQ(after, hostile);
    ExpectSame(result, usual);
  }
}

// A thread takes over the state of the one that started it: workers of the pool
// may have been born in a hostile one. A forked child has a pool of its own.
TEST_P(DeterminismTest, FloatingPointStateOfTheWorkers) {
  const DenormalProblem problem(Type());
  const AttentionResult usual = Run(problem.p);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const uint64_t before = FloatControl();
    SetFloatControl(before | kFlushToZero);
    ParallelFor(100, 2, [](int64_t, int) {});
    SetFloatControl(before);
    bool same = true;
    for (int round = 0; round < 30; ++round) {
      same = same && SameBits(Run(problem.p, 2).out, usual.out);
    }
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// OpenBLAS#294, pytorch#58962: a child forked after use finishes, with equal
// numbers.
TEST_P(DeterminismTest, Fork) {
  const Problem problem(Type());
  const AttentionProblem p = problem.View(Mask::Causal());
  const AttentionResult parent = Run(p, 3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    _exit(SameBits(Run(p, 3).out, parent.out) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace regard::inline v0
