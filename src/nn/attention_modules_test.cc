#include <gmock/gmock.h>

#include <vector>

#include "nn/test_support.h"
#include "regard/nn.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const AttentionModuleOptions kWithWeights = {
    .mask = {}, .query_offset = {}, .need_weights = true};

AttentionModuleOptions Masked(const Mask& mask) {
  return {.mask = mask, .query_offset = {}, .need_weights = true};
}

TEST(SelfAttentionTest, ShapesOfBothForms) {
  const SelfAttention projection(512, 64);
  const AttentionModuleResult a =
      projection.Forward(RandomTensor({2, 6, 512}, 1), kWithWeights);
  EXPECT_EQ(a.output.shape(), (Dims{2, 6, 64}));
  EXPECT_EQ(a.weights.shape(), (Dims{2, 6, 6}));
  const SelfAttention embedding(16);
  const AttentionModuleResult b =
      embedding.Forward(RandomTensor({3, 5, 16}, 1), kWithWeights);
  EXPECT_EQ(b.output.shape(), (Dims{3, 5, 16}));
  EXPECT_EQ(b.weights.shape(), (Dims{3, 5, 5}));
  const AttentionModuleResult c =
      embedding.Forward(RandomTensor({5, 16}, 1), kWithWeights);
  EXPECT_EQ(c.output.shape(), (Dims{5, 16}));
  EXPECT_EQ(c.weights.shape(), (Dims{5, 5}));
  for (int64_t row = 0; row < 15; ++row) {
    double sum = 0;
    for (int64_t key = 0; key < 5; ++key) {
      sum += b.weights.As<float>()[row * 5 + key];
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST(SelfAttentionTest, AskingForWeightsChangesNothing) {
  const SelfAttention module(16);
  const Tensor x = RandomTensor({3, 37, 16}, 1);
  const AttentionModuleResult without = module.Forward(x);
  EXPECT_FALSE(without.weights.given());
  EXPECT_TRUE(SameBits(without.output, module.Forward(x, kWithWeights).output));
}

TEST(SelfAttentionTest, BatchAndThreadsChangeNothing) {
  const SelfAttention module(24, 8, /*bias=*/true, /*seed=*/3);
  const Tensor x = RandomTensor({3, 21, 24}, 1);
  const AttentionModuleResult all = module.Forward(x, kWithWeights);
  for (int64_t b = 0; b < 3; ++b) {
    AttentionModuleOptions options = kWithWeights;
    options.threads = static_cast<int>(b) + 1;
    const AttentionModuleResult one =
        module.Forward(x.view().Select(0, b), options);
    EXPECT_TRUE(SameBits(one.output, all.output.view().Select(0, b)));
    EXPECT_TRUE(SameBits(one.weights, all.weights.view().Select(0, b)));
  }
}

TEST(SelfAttentionTest, MasksOfRankThreeAreOnePerSequence) {
  const SelfAttention module(8, 4);
  const Tensor x = RandomTensor({2, 3, 8}, 1);
  // Sequence 1 may not look at its last key; nobody in sequence 0 at key 0.
  const bool allowed[2][1][3] = {{{false, true, true}}, {{true, true, false}}};
  const Mask three = Mask::Boolean(TensorView(&allowed[0][0][0], {2, 1, 3}));
  const Mask four = Mask::Boolean(TensorView(&allowed[0][0][0], {2, 1, 1, 3}));
  const AttentionModuleResult result = module.Forward(x, Masked(three));
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.weights.As<float>()[i * 3], 0);
    EXPECT_GT(result.weights.As<float>()[i * 3 + 2], 0);
    EXPECT_EQ(result.weights.As<float>()[9 + i * 3 + 2], 0);
  }
  EXPECT_TRUE(
      SameBits(result.weights, module.Forward(x, Masked(four)).weights));
  const AttentionModuleResult causal =
      module.Forward(x, Masked(Mask::Causal() & three));
  EXPECT_EQ(causal.weights.As<float>()[9], 1);  // sequence 1, first row
  for (const int64_t cell : {1, 2, 5}) {
    EXPECT_EQ(causal.weights.As<float>()[9 + cell], 0);
  }
}

// A row without a visible key: weights 0, attention output 0, so the module
// answers the bias of its output projection.
TEST(SelfAttentionTest, EmptyRowsAreZero) {
  const Tensor x = RandomTensor({2, 3, 8}, 1);
  const Mask nothing = Mask::Lengths({}, {3, 0});
  const SelfAttention projection(8, 4, /*bias=*/true);
  const AttentionModuleResult plain = projection.Forward(x, Masked(nothing));
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(plain.output.As<float>()[12 + i], 0);
  }
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(plain.weights.As<float>()[9 + i], 0);
  }
  SelfAttention embedding(8);
  embedding.out_proj->bias.Assign(RandomTensor({8}, 2));
  const AttentionModuleResult projected = embedding.Forward(x, Masked(nothing));
  EXPECT_TRUE(SameBits(projected.output.view().Select(0, 1).Select(0, 2),
                       embedding.out_proj->bias.view()));
}

TEST(SelfAttentionTest, EmptyInputs) {
  const SelfAttention module(8);
  for (const Dims& shape : {Dims{2, 0, 8}, Dims{0, 3, 8}, Dims{0, 8}}) {
    const AttentionModuleResult result =
        module.Forward(RandomTensor(shape, 1), kWithWeights);
    EXPECT_EQ(result.output.shape(), shape);
    EXPECT_EQ(result.weights.NumElements(), 0);
  }
}

TEST(SelfAttentionTest, MistakesAreNamed) {
  const SelfAttention module(8, 4);
  EXPECT_EQ(MessageOf([&] {
              module.Forward(RandomTensor({2, 6, 5}, 1));
            }),
            "SelfAttention: the input is [2, 6, 5], but its last axis has to "
            "be d_model = 8");
  EXPECT_EQ(MessageOf([&] { module.Forward(RandomTensor({8}, 1)); }),
            "SelfAttention: x is [8], but has to be [B, L, d_model] or [L, "
            "d_model]");
  const bool allowed[4] = {true, true, true, true};
  const Mask wrong = Mask::Boolean(TensorView(allowed, {2, 2}));
  const std::string message = MessageOf([&] {
    module.Forward(RandomTensor({2, 3, 8}, 1), Masked(wrong));
  });
  EXPECT_THAT(message, HasSubstr("[2, 2]"));
}

MultiHeadAttention RandomHeads(int64_t d_model, int64_t heads,
                               std::optional<int64_t> kv_heads = {},
                               std::optional<int64_t> head_size = {}) {
  MultiHeadAttention module(d_model, heads, true, kv_heads, head_size);
  InitializeXavier(module, 5);
  return module;
}

TEST(MultiHeadAttentionTest, ShapesWithContextAndWithoutBatch) {
  const MultiHeadAttention module = RandomHeads(12, 3);
  const Tensor x = RandomTensor({2, 5, 12}, 1);
  const Tensor context = RandomTensor({2, 7, 12}, 2);
  const AttentionModuleResult cross = module.Forward(x, kWithWeights, context);
  EXPECT_EQ(cross.output.shape(), (Dims{2, 5, 12}));
  EXPECT_EQ(cross.weights.shape(), (Dims{2, 3, 5, 7}));
  const AttentionModuleResult one = module.Forward(
      x.view().Select(0, 1), kWithWeights, context.view().Select(0, 1));
  EXPECT_EQ(one.weights.shape(), (Dims{3, 5, 7}));
  EXPECT_TRUE(SameBits(one.output, cross.output.view().Select(0, 1)));
  EXPECT_TRUE(
      SameBits(module.Forward(x).output, module.Forward(x, {}, x).output));
}

// Keys and values of few heads act like the same ones repeated for every query
// head of their group.
TEST(MultiHeadAttentionTest, GroupedHeadsEqualRepeatedOnes) {
  const MultiHeadAttention grouped = RandomHeads(10, 4, 2, 6);
  MultiHeadAttention full = RandomHeads(10, 4, 4, 6);
  full.q_proj.weight.Bind(grouped.q_proj.weight.view());
  full.out_proj.weight.Bind(grouped.out_proj.weight.view());
  for (const auto& [from, to] : {std::pair{&grouped.k_proj, &full.k_proj},
                                 std::pair{&grouped.v_proj, &full.v_proj}}) {
    const TensorView heads = from->weight.view().Reshaped({2, 1, 6 * 10});
    const TensorView repeated(heads.data, DType::kF32, {2, 2, 60}, {60, 0, 1});
    to->weight.Assign(Tensor::CopyOf(repeated).view().Reshaped({24, 10}));
  }
  const Tensor x = RandomTensor({2, 9, 10}, 1);
  const AttentionModuleResult a = grouped.Forward(x, kWithWeights);
  const AttentionModuleResult b = full.Forward(x, kWithWeights);
  EXPECT_LT(LargestDifference(a.output, b.output), 1e-6);
  EXPECT_LT(LargestDifference(a.weights, b.weights), 1e-6);
}

TEST(MultiHeadAttentionTest, MistakesAreNamed) {
  EXPECT_EQ(MessageOf([] { MultiHeadAttention(10, 3); }),
            "MultiHeadAttention: d_model = 10 is not a multiple of heads = 3");
  EXPECT_EQ(MessageOf([] { MultiHeadAttention(12, 3, true, 2); }),
            "MultiHeadAttention: heads = 3 is not a multiple of kv_heads = 2");
  EXPECT_THROW(MultiHeadAttention(12, 0), Error);
  const MultiHeadAttention module = RandomHeads(12, 3);
  EXPECT_EQ(MessageOf([&] {
              module.Forward(RandomTensor({2, 5, 12}, 1), {},
                             RandomTensor({3, 5, 12}, 1));
            }),
            "MultiHeadAttention: x is [2, 5, 12] and context is [3, 5, 12], "
            "but their batch has to be the same");
}

// Mistakes that the engine finds bear the module's name.
TEST(AttentionModulesTest, MistakesInMasksAreNamed) {
  const uint8_t bytes[24] = {};
  const SelfAttention single(12, 6);
  const Tensor x = RandomTensor({2, 3, 12}, 1);
  EXPECT_EQ(
      MessageOf([&] {
        single.Forward(x, Masked(Mask::Boolean(TensorView(bytes, {2, 3, 4}))));
      }),
      "SelfAttention: mask: shape [2, 1, 3, 4] does not broadcast to [B, "
      "Hq, Lq, Lk] = [2, 1, 3, 3]");
  const MultiHeadAttention heads = RandomHeads(12, 3);
  EXPECT_THAT(
      MessageOf([&] {
        heads.Forward(x, Masked(Mask::Causal()), RandomTensor({2, 4, 12}, 2));
      }),
      testing::StartsWith("MultiHeadAttention: query_offset: not set"));
}

// Sequences or heads: with as many of these as of those both would fit.
TEST(MultiHeadAttentionTest, MasksOfRankThree) {
  const uint8_t bytes[27] = {1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0,
                             0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1};
  const MultiHeadAttention heads = RandomHeads(12, 3);
  const Tensor batch = RandomTensor({3, 3, 12}, 1);
  const Tensor one = RandomTensor({3, 12}, 1);
  const TensorView three(bytes, {3, 3, 3});
  const TensorView layout(bytes, {3, 1, 1});
  for (const Mask& mask :
       {Mask::Boolean(three), Mask::Causal() & Mask::Bits(three),
        Mask::BlockSparse(layout, 3, 3)}) {
    EXPECT_THAT(
        MessageOf([&] { heads.Forward(batch, Masked(mask)); }),
        AllOf(testing::StartsWith("MultiHeadAttention: a mask of shape [3, "),
              HasSubstr("give [B, 1, Lq, Lk] or [1, heads, Lq, Lk]")));
  }
  // Without a batch, or with one for all, there is nothing to tell.
  const Mask per_head = Mask::Boolean(three);
  const Mask per_head_of_all = Mask::Boolean(three.Unsqueezed(0));
  EXPECT_TRUE(SameBits(heads.Forward(one, Masked(per_head)).weights,
                       heads.Forward(one, Masked(per_head_of_all)).weights));
  const TensorView same(bytes, {1, 3, 3});
  EXPECT_TRUE(SameBits(
      heads.Forward(batch, Masked(Mask::Boolean(same))).weights,
      heads.Forward(batch, Masked(Mask::Boolean(same.Select(0, 0)))).weights));
}

TEST(AttentionModulesTest, InputsThatAreNotThere) {
  const SelfAttention single(12, 6);
  EXPECT_EQ(MessageOf([&] {
              single.Forward(TensorView(nullptr, DType::kF32, {2, 3, 12}));
            }),
            "SelfAttention: the input [2, 3, 12] has no memory");
  const Tensor x = RandomTensor({2, 3, 12}, 1);
  TensorView broken = x;
  broken.strides = Dims{1};
  EXPECT_EQ(MessageOf([&] { single.Forward(broken); }),
            "SelfAttention: the input has the shape [2, 3, 12], but the "
            "strides [1]");
}

// What an observer is told is enough to compute the module's output.
class Recorder : public AttentionObserver {
 public:
  void OnAttention(const AttentionCall& call) override {
    layers.push_back(call.layer);
    q = Tensor::CopyOf(call.problem->q);
    out = Tensor::CopyOf(call.out);
    w_o = call.output_projection.given()
              ? Tensor::CopyOf(call.output_projection)
              : Tensor();
    mask_terms = call.problem->mask.terms().size();
  }
  std::vector<int> layers;
  Tensor q, out, w_o;
  size_t mask_terms = 0;
};

TEST(ObserverTest, IsToldAboutEveryCall) {
  const MultiHeadAttention module = RandomHeads(12, 3);
  const Tensor x = RandomTensor({2, 5, 12}, 1);
  Recorder recorder;
  AttentionModuleOptions options = Masked(Mask::Causal());
  options.observer = &recorder;
  options.layer = 4;
  const AttentionModuleResult result = module.Forward(x, options);
  EXPECT_EQ(recorder.layers, std::vector<int>{4});
  EXPECT_EQ(recorder.q.shape(), (Dims{2, 3, 5, 4}));
  EXPECT_EQ(recorder.mask_terms, 1u);
  EXPECT_TRUE(SameBits(recorder.w_o, module.out_proj.weight.view()));
  const Tensor joined = Tensor::CopyOf(recorder.out.view().Transposed(1, 2));
  EXPECT_TRUE(SameBits(result.output, module.out_proj.Forward(
                                          joined.view().Reshaped({2, 5, 12}))));

  const SelfAttention single(12, 6);
  options.mask = Mask();
  single.Forward(x, options);
  EXPECT_FALSE(recorder.w_o.given());
  EXPECT_EQ(recorder.q.shape(), (Dims{2, 1, 5, 6}));
}

}  // namespace
}  // namespace regard::inline v0
