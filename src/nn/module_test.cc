#include <gmock/gmock.h>

#include "nn/test_support.h"
#include "regard/nn.h"
#include "tests/support/float_control.h"

namespace regard::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(Module&& module) {
  std::vector<std::string> names;
  for (const NamedParameter& entry : module.Parameters()) {
    names.push_back(entry.name);
  }
  return names;
}

TEST(ModuleTest, ParametersHaveTheirNamesInOrder) {
  EXPECT_THAT(Names(Linear(2, 3)), ElementsAre("weight", "bias"));
  EXPECT_THAT(Names(SelfAttention(4, 2)),
              ElementsAre("q_proj.weight", "k_proj.weight", "v_proj.weight"));
  EXPECT_THAT(Names(SelfAttention(4)),
              ElementsAre("q_proj.weight", "q_proj.bias", "k_proj.weight",
                          "k_proj.bias", "v_proj.weight", "v_proj.bias",
                          "out_proj.weight", "out_proj.bias"));
  EXPECT_THAT(Names(FeedForward(2, 3)),
              ElementsAre("up.weight", "up.bias", "down.weight", "down.bias"));
  EXPECT_EQ(Names(EncoderLayer(4, 2, 8, 1e-12)).size(), 16u);
}

TEST(ModuleTest, LoadCopiesEverythingOrNothing) {
  Linear linear(2, 3);
  const Tensor weight = RandomTensor({3, 2}, 1), bias = RandomTensor({3}, 2);
  linear.Load({{"bias", bias}, {"weight", weight}});
  EXPECT_TRUE(SameBits(linear.weight.view(), weight));
  EXPECT_NE(linear.weight.data(), weight.As<float>());
  const Tensor other = RandomTensor({3, 2}, 3), wrong = RandomTensor({2}, 4);
  EXPECT_THAT(MessageOf([&] {
                linear.Load({{"weight", other}});
              }),
              HasSubstr("Module::Load: bias: missing"));
  EXPECT_THAT(MessageOf([&] {
                linear.Load({{"weight", other}, {"bias", wrong}});
              }),
              HasSubstr("bias: values are f32 [2], the parameter is f32 [3]"));
  EXPECT_THAT(MessageOf([&] {
                linear.Load({{"weight", other}, {"bias", bias}, {"b", bias}});
              }),
              HasSubstr("\"b\" is no parameter of this module"));
  EXPECT_THAT(
      MessageOf([&] {
        linear.Load({{"weight", other}, {"bias", bias}, {"bias", bias}});
      }),
      HasSubstr("\"bias\" is given twice"));
  EXPECT_TRUE(SameBits(linear.weight.view(), weight));
}

TEST(ModuleTest, BindRefusesWhatItCannotUse) {
  Parameter parameter(Dims{2, 3});
  EXPECT_FALSE(parameter.has_values());
  const Tensor doubles(DType::kF64, {2, 3}), turned(DType::kF32, {3, 2});
  EXPECT_THROW(parameter.Bind(doubles), Error);
  EXPECT_THROW(parameter.Bind(turned), Error);
  EXPECT_THAT(
      MessageOf([&] { parameter.Bind(turned.view().Transposed(0, 1)); }),
      HasSubstr("not contiguous"));
  parameter.Assign(turned.view().Transposed(0, 1));
  EXPECT_TRUE(parameter.has_values());
}

TEST(ModuleTest, XavierIsUniformAndTheSameEverywhere) {
  Linear linear(300, 100);
  InitializeXavier(linear, 1);
  const double bound = std::sqrt(6.0 / 400);
  double sum = 0, squares = 0, largest = 0;
  for (int64_t i = 0; i < 30000; ++i) {
    const double w = linear.weight.data()[i];
    sum += w;
    squares += w * w;
    largest = std::max(largest, std::abs(w));
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.999 * bound);
  EXPECT_NEAR(sum / 30000, 0, 0.002);
  EXPECT_NEAR(squares / 30000, bound * bound / 3, 0.0001);
  EXPECT_EQ(linear.bias.data()[7], 0);
  Linear again(300, 100), other(300, 100);
  InitializeXavier(again, 1);
  InitializeXavier(other, 2);
  EXPECT_TRUE(SameBits(linear.weight.view(), again.weight.view()));
  EXPECT_FALSE(SameBits(linear.weight.view(), other.weight.view()));
  LayerNorm norm(3);
  InitializeXavier(norm, 1);
  EXPECT_EQ(norm.weight.data()[0], 1);
}

// A host that flushes denormals to zero gets the same bits, on its own thread
// and on the pool's.
TEST(ModuleTest, HostFloatStateChangesNothing) {
  EncoderLayer layer(24, 3, 40, 1e-12);
  InitializeXavier(layer, 1);
  Tensor x = RandomTensor({40, 24}, 2);
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    x.AsMutable<float>()[i] *= 1e-39f;  // denormal
  }
  Tensor activated = x.Clone();
  Gelu(activated.mutable_view());
  const Tensor linear = layer.feed_forward.up.Forward(x);
  const Tensor normal = layer.Forward(x);
  const uint64_t before = FloatControl();
  for (const int threads : {1, 3}) {
    Tensor again = x.Clone();
    SetFloatControl(before | kFlushToZero);
    Gelu(again.mutable_view(), threads);
    const Tensor linear_again = layer.feed_forward.up.Forward(x, threads);
    AttentionModuleOptions options;
    options.threads = threads;
    const Tensor normal_again = layer.Forward(x, options);
    const uint64_t kept = FloatControl();
    SetFloatControl(before);
    EXPECT_EQ(kept, before | kFlushToZero);
    EXPECT_TRUE(SameBits(again, activated)) << threads;
    EXPECT_TRUE(SameBits(linear_again, linear)) << threads;
    EXPECT_TRUE(SameBits(normal_again, normal)) << threads;
  }
}

TEST(EmbeddingTest, RowsOfTheTable) {
  Embedding table(3, 2);
  table.weight.Assign(Tensor::FromVector({0, 1, 10, 11, 20, 21}, {3, 2}));
  const Tensor rows = table.Forward({2, 0, 2});
  EXPECT_TRUE(SameBits(
      rows, Tensor::FromVector({20, 21, 0, 1, 20, 21}, {3, 2}).view()));
  EXPECT_EQ(table.Forward({}).shape(), (Dims{0, 2}));
  EXPECT_EQ(MessageOf([&] {
              table.Forward({0, 3});
            }),
            "Embedding: id 3 in a table of 3 rows: ids go from 0 to 2");
  EXPECT_THROW(table.Forward({-1}), Error);
}

}  // namespace
}  // namespace regard::inline v0
