// Sequences of different lengths in one call: packed, behind lengths, in pages
// and rings. Each gets the bits that it gets alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/attention_case.h"
#include "tests/support/compare.h"
#include "tests/support/kernels.h"
#include "tests/support/sequences_case.h"

namespace regard::inline v0 {
namespace {

// Every kernel by name, and the plan's own choice, which differs from sequence
// to sequence.
std::vector<AttentionOptions> AllOptions() {
  std::vector<AttentionOptions> all;
  for (const KernelOnTarget& kernel : AllKernels()) {
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
        lse(p.q.dtype, With(p, {}), Layout::kEverySecond),
        weights(p.q.dtype, With(p, {keys}), Layout::kPaddedRows) {}
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
  const std::vector<AttentionOptions> all = AllOptions();
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const SequencesCase test(
        {.seed = seed,
         .dtype = seed % 4 == 3 ? DType::kF64 : DType::kF32,
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

}  // namespace
}  // namespace regard::inline v0
