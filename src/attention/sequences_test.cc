// Sequences of different lengths in one call: packed, behind lengths, in pages
// and rings. Each gets the bits that it gets alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/compare.h"
#include "tests/support/guarded_array.h"
#include "tests/support/kernels.h"
#include "tests/support/sequences_case.h"

namespace regard::inline v0 {
namespace {

// Every kernel for a type by name, and the plan's own choice, which differs
// from sequence to sequence.
std::vector<AttentionOptions> AllOptions(DType dtype) {
  std::vector<AttentionOptions> all;
  for (const KernelOnTarget& kernel : AllKernels(dtype)) {
    all.push_back(OptionsFor(kernel));
  }
  for (const std::string& isa : UsableInstructionSets()) {
    all.push_back(OptionsFor({"", isa}));
  }
  return all;
}

struct Guarded {
  GuardedArray out, lse, weights;
  Guarded(const AttentionProblem& p, int64_t keys)
      : out(p.q.dtype, With(p, {p.v.shape[3]}), Layout::kHeadsInside),
        lse(ArithmeticOf(p.q.dtype), With(p, {}), Layout::kEverySecond),
        weights(ArithmeticOf(p.q.dtype), With(p, {keys}), Layout::kPaddedRows) {
  }
  static DType ArithmeticOf(DType dtype) {
    return dtype == DType::kF64 ? dtype : DType::kF32;
  }
  static Dims With(const AttentionProblem& p,
                   std::initializer_list<int64_t> last) {
    Dims shape = {p.q.shape[0], p.q.shape[1], p.q.shape[2]};
    for (const int64_t size : last) shape.push_back(size);
    return shape;
  }
  AttentionOutputs outputs() const {
    return {out.view(), lse.view(), weights.view()};
  }
  bool Intact() const {
    return out.GuardsIntact() && lse.GuardsIntact() && weights.GuardsIntact();
  }
};

void ExpectAsAlone(const SequencesCase& test, const AttentionOptions& options,
                   const AttentionOutputs& all) {
  for (int64_t s = 0; s < test.sequences(); ++s) {
    SCOPED_TRACE("sequence " + std::to_string(s));
    const AttentionProblem one = test.Alone(s);
    const AttentionResult alone = Attend(one, options);
    EXPECT_TRUE(SameBits(test.RowsOf(s, all.out), alone.out));
    EXPECT_TRUE(SameBits(test.RowsOf(s, all.lse), alone.lse));
    const TensorView weights = test.RowsOf(s, all.weights);
    const int64_t keys = one.k.shape[2];
    EXPECT_TRUE(SameBits(weights.Slice(3, 0, keys), alone.weights));
    const Tensor none(weights.dtype,
                      {weights.shape[0], weights.shape[1], weights.shape[2],
                       weights.shape[3] - keys});
    EXPECT_TRUE(SameBits(weights.Slice(3, keys, weights.shape[3]), none));
  }
}

class SequencesTest : public testing::TestWithParam<KeyStorage> {};

INSTANTIATE_TEST_SUITE_P(Storages, SequencesTest,
                         testing::ValuesIn(kKeyStorages), [](const auto& info) {
                           return std::string(NameOf(info.param));
                         });

TEST_P(SequencesTest, AsAlone) {
  constexpr int kThreads[] = {1, 2, 3, 5, 8};
  constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kF32,
                              DType::kF64};
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const DType dtype = kTypes[seed % 4];
    const std::vector<AttentionOptions> all = AllOptions(dtype);
    const SequencesCase test({.seed = seed,
                              .dtype = dtype,
                              .storage = GetParam(),
                              .packed_queries = seed % 3 != 2});
    SCOPED_TRACE(test.description());
    // A third of them each, the reference, which is slow, too.
    for (size_t i = seed % 3; i < all.size(); i += 3) {
      AttentionOptions options = all[i];
      options.threads = kThreads[(seed + i) % 5];
      SCOPED_TRACE(options.kernel + " " + options.instruction_set + " " +
                   std::to_string(options.threads));
      AttentionPlan plan(test.problem(), options);
      const int64_t keys =
          Attend(test.problem(), {.weights = true}).weights.dim(3);
      const Guarded guarded(test.problem(), keys);
      plan.Run(test.problem(), guarded.outputs());
      EXPECT_TRUE(guarded.Intact());
      ExpectAsAlone(test, options, guarded.outputs());
      if (HasFailure()) return;
    }
  }
}

// Hundreds of sequences of 0 to 70 keys and 0 to 20 queries, in pages of 7:
// more than a wave holds, and every thread count gives the same bits.
TEST(SequencesTest, Hundreds) {
  constexpr int64_t kSequences = 700, kRows = 7, kSize = 8;
  std::vector<int64_t> starts = {0}, lengths, table;
  int64_t pages = 0;
  for (int64_t s = 0; s < kSequences; ++s) {
    starts.push_back(starts.back() + s * 7919 % 21);
    lengths.push_back(s * 104729 % 71);
    for (int64_t i = 0; i < 11; ++i) {
      table.push_back(i * kRows < lengths.back() ? pages++ : -1);
    }
  }
  const auto fill = [](Tensor& tensor, uint32_t state) {
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      state = state * 1664525 + 1013904223;
      tensor.AsMutable<float>()[i] = static_cast<float>(state >> 8) / (1 << 23);
    }
  };
  Tensor q(DType::kF32, {1, 8, starts.back(), kSize});
  Tensor k(DType::kF32, {pages, 8, kRows, kSize});
  Tensor v(DType::kF32, {pages, 8, kRows, kSize});
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  AttentionProblem p;
  p.q = q;
  p.k = k;
  p.v = v;
  p.query_starts = TensorView(starts.data(), {kSequences + 1});
  p.key_lengths = TensorView(lengths.data(), {kSequences});
  p.block_table = TensorView(table.data(), {kSequences, 11});
  p.mask = Mask::Causal();
  p.query_offset = QueryOffset::BottomRight();
  const Tensor one = std::move(Attend(p, {.threads = 1}).out);
  for (const int threads : {2, 3, 5, 8}) {
    EXPECT_TRUE(SameBits(Attend(p, {.threads = threads}).out, one));
  }
  for (int64_t s = 0; s < kSequences; s += 97) {
    const size_t at = static_cast<size_t>(s);
    AttentionProblem alone = p;
    alone.query_starts = {};
    alone.q = q.view().Slice(2, starts[at], starts[at + 1]);
    alone.key_lengths = TensorView(lengths.data() + s, {1});
    alone.block_table = TensorView(table.data() + s * 11, {1, 11});
    EXPECT_TRUE(SameBits(Attend(alone).out,
                         one.view().Slice(2, starts[at], starts[at + 1])));
  }
}

// Packed i8 keys whose scales lie at places of their own, beside f32 values.
TEST(SequencesTest, ScalesOfPackedRows) {
  const int64_t starts[3] = {0, 3, 10};
  Tensor bytes(DType::kI8, {1, 2, 10, 5}), scales(DType::kF32, {1, 10, 2, 3});
  Tensor keys(DType::kF32, {1, 2, 10, 5}), q(DType::kF32, {1, 4, 10, 5});
  for (int64_t i = 0; i < 60; ++i) {
    scales.AsMutable<float>()[i] = static_cast<float>(i + 1) / 1000;
  }
  auto* stored = static_cast<int8_t*>(bytes.mutable_view().mutable_data());
  for (int64_t i = 0; i < 100; ++i) {
    stored[i] = static_cast<int8_t>(i * 37 % 255 - 127);
    const int64_t head = i / 50, row = i / 5 % 10;
    keys.AsMutable<float>()[i] = scales.As<float>()[(row * 2 + head) * 3] *
                                 static_cast<float>(stored[i]);
  }
  for (int64_t i = 0; i < 200; ++i) {
    q.AsMutable<float>()[i] = static_cast<float>(i % 13) - 6;
  }
  AttentionProblem p;
  p.q = q;
  p.k = p.v = keys;
  p.query_starts = p.key_starts = TensorView(starts, {3});
  for (const KernelOnTarget& kernel : AllKernels()) {
    const AttentionResult expected = Attend(p, OptionsFor(kernel));
    AttentionProblem eight = p;
    eight.k = bytes;
    eight.k_scales =
        TensorView(scales.As<float>(), DType::kF32, {1, 2, 10}, {60, 3, 6});
    const AttentionResult actual = Attend(eight, OptionsFor(kernel));
    EXPECT_TRUE(SameBits(actual.out, expected.out)) << kernel.Name();
    EXPECT_TRUE(SameBits(actual.lse, expected.lse)) << kernel.Name();
  }
}

// pytorch#187227: pages whose rows lie past 2^32 elements, and keys at
// positions past 2^40 in a ring, as a stride of 0 or a few real slots show.
TEST(SequencesTest, LargeNumbers) {
  Tensor few(DType::kF32, {1, 1, 4, 2});
  for (int64_t i = 0; i < 8; ++i) {
    few.AsMutable<float>()[i] = static_cast<float>(i);
  }
  const float zero = 0;
  AttentionProblem p;
  p.q = TensorView(&zero, DType::kF32, {1, 1, 1, 2}, {0, 0, 0, 0});
  // 2^40 pages, all of the same four rows: the last and one far before it are
  // read.
  constexpr int64_t kPages = int64_t{1} << 40;
  p.k = p.v =
      TensorView(few.As<float>(), DType::kF32, {kPages, 1, 4, 2}, {0, 0, 2, 1});
  const int64_t table[2] = {kPages - 1, kPages - (int64_t{1} << 38)};
  int64_t length = 6;
  p.block_table = TensorView(table, {1, 2});
  p.key_lengths = TensorView(&length, {1});
  EXPECT_FLOAT_EQ(Attend(p).out.As<float>()[0], (0 + 2 + 4 + 6 + 0 + 2) / 6.0f);
  // Keys 2^40 - 2 and 2^40 - 1 stand in slots 2 and 3 of 4.
  p.block_table = {};
  p.k = p.v = few;
  length = int64_t{1} << 40;
  p.ring = KeyRing{0, 4};
  p.query_offset = QueryOffset::BottomRight();
  p.mask = Mask::Window(2, 0);
  for (const KernelOnTarget& kernel : AllKernels()) {
    AttentionOptions options = OptionsFor(kernel);
    options.weights = false;
    const AttentionResult result = Attend(p, options);
    EXPECT_FLOAT_EQ(result.out.As<float>()[0], 5) << kernel.Name();
    EXPECT_LT(AttentionPlan(p, options).scratch_bytes(), 1000000u);
  }
}

}  // namespace
}  // namespace regard::inline v0
