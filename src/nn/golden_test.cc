// Modules against PyTorch modules of the same definition
// (tests/golden/make_modules.py).
#include <gtest/gtest.h>

#include "nn/test_support.h"
#include "regard/io.h"
#include "regard/nn.h"

namespace regard::inline v0 {
namespace {

SafeTensors Golden(const std::string& name) {
  return SafeTensors::Open(std::string(REGARD_SOURCE_DIR) +
                           "/tests/golden/modules/" + name + ".safetensors");
}

void LoadFrom(const SafeTensors& file, Module& module) {
  std::vector<std::pair<std::string, TensorView>> tensors;
  for (const NamedParameter& entry : module.Parameters()) {
    tensors.emplace_back(entry.name, file.Get(entry.name));
  }
  module.Load(tensors);
}

constexpr double kTolerance = 1e-6;

void ExpectNear(const TensorView& found, const TensorView& wanted) {
  EXPECT_LE(LargestDifference(found, wanted), kTolerance);
}

void CheckSelfAttention(const std::string& name, SelfAttention& module) {
  const SafeTensors file = Golden(name);
  LoadFrom(file, module);
  const TensorView x = file.Get("x");
  AttentionModuleOptions options;
  options.need_weights = true;
  const AttentionModuleResult plain = module.Forward(x, options);
  ExpectNear(plain.output, file.Get("out"));
  ExpectNear(plain.weights, file.Get("weights"));
  options.mask = Mask::Causal();
  const AttentionModuleResult causal = module.Forward(x, options);
  ExpectNear(causal.output, file.Get("causal_out"));
  ExpectNear(causal.weights, file.Get("causal_weights"));
  options.mask = Mask::Boolean(file.Get("padding"));
  const AttentionModuleResult padded = module.Forward(x, options);
  ExpectNear(padded.output, file.Get("padded_out"));
  ExpectNear(padded.weights, file.Get("padded_weights"));
}

TEST(GoldenTest, SelfAttentionProjection) {
  SelfAttention module(48, 12);
  CheckSelfAttention("self_attention_projection", module);
}

TEST(GoldenTest, SelfAttentionEmbedding) {
  SelfAttention module(16);
  CheckSelfAttention("self_attention_embedding", module);
}

TEST(GoldenTest, MultiHeadAttention) {
  const SafeTensors file = Golden("multi_head_attention");
  MultiHeadAttention module(24, 4);
  LoadFrom(file, module);
  AttentionModuleOptions options;
  options.need_weights = true;
  const TensorView x = file.Get("x");
  const AttentionModuleResult self = module.Forward(x, options);
  ExpectNear(self.output, file.Get("out"));
  ExpectNear(self.weights, file.Get("weights"));
  const AttentionModuleResult cross =
      module.Forward(x, options, file.Get("context"));
  ExpectNear(cross.output, file.Get("cross"));
  ExpectNear(cross.weights, file.Get("cross_weights"));
}

TEST(GoldenTest, EncoderLayer) {
  const SafeTensors file = Golden("encoder_layer");
  EncoderLayer module(24, 4, 40, 1e-12);
  LoadFrom(file, module);
  ExpectNear(module.Forward(file.Get("x")), file.Get("out"));
}

TEST(GoldenTest, Linear) {
  const SafeTensors file = Golden("linear");
  Linear module(37, 101);
  LoadFrom(file, module);
  ExpectNear(module.Forward(file.Get("x")), file.Get("out"));
}

TEST(GoldenTest, LayerNorm) {
  const SafeTensors file = Golden("layer_norm");
  LayerNorm module(53);
  LoadFrom(file, module);
  const Tensor out = module.Forward(file.Get("x"));
  ExpectNear(out, Converted(file.Get("out64"), DType::kF32));
  // PyTorch's own f32 sums lose digits in the last sequence, far from mean 0.
  ExpectNear(out.view().Slice(0, 0, 3), file.Get("out").Slice(0, 0, 3));
}

TEST(GoldenTest, Gelu) {
  const SafeTensors file = Golden("gelu");
  Tensor x = Tensor::CopyOf(file.Get("x"));
  Gelu(x.mutable_view());
  ExpectNear(x, file.Get("out"));
  ExpectNear(x, Converted(file.Get("out64"), DType::kF32));
}

}  // namespace
}  // namespace regard::inline v0
