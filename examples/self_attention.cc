// Self-attention in its two forms: shapes, the matrix of weights, its picture.
//
//   self_attention [PICTURE.svg [WEIGHTS.safetensors]]
//
// WEIGHTS holds q_proj.weight, q_proj.bias, ... of the second form, for example
// saved from PyTorch, and may hold an input "x" of shape [B, L, 16].
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "regard/io.h"
#include "regard/nn.h"
#include "regard/render.h"

namespace {

// Numbers in [-1, 1), the same on every machine.
regard::Tensor RandomInput(const regard::Dims& shape, uint32_t seed) {
  std::mt19937 generator(seed);
  regard::Tensor x(regard::DType::kF32, shape);
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    const double unit = static_cast<double>(generator()) / 4294967296.0;
    x.AsMutable<float>()[i] = static_cast<float>(2 * unit - 1);
  }
  return x;
}

void PrintShapes(const char* title, const regard::TensorView& x,
                 const regard::AttentionModuleResult& result) {
  std::printf("%s\n  input   %s\n  output  %s\n  weights %s\n\n", title,
              ToString(x.shape).c_str(),
              ToString(result.output.shape()).c_str(),
              ToString(result.weights.shape()).c_str());
}

void PrintMatrix(const regard::TensorView& matrix) {
  for (int64_t row = 0; row < matrix.shape[0]; ++row) {
    for (int64_t column = 0; column < matrix.shape[1]; ++column) {
      const int64_t at = row * matrix.strides[0] + column * matrix.strides[1];
      std::printf("  %.3f", static_cast<double>(matrix.As<float>()[at]));
    }
    std::printf("\n");
  }
}

// Every parameter of the module from the tensor of the same name.
void LoadFrom(const regard::SafeTensors& file, regard::Module& module) {
  std::vector<std::pair<std::string, regard::TensorView>> tensors;
  for (const regard::NamedParameter& entry : module.Parameters()) {
    tensors.emplace_back(entry.name, file.Get(entry.name));
  }
  module.Load(tensors);
}

void WritePicture(const std::string& path, const regard::TensorView& weights) {
  regard::HeatMap map;
  map.values = weights;
  for (int64_t i = 0; i < weights.shape[0]; ++i) {
    map.row_labels.push_back(std::to_string(i));
    map.column_labels.push_back(std::to_string(i));
  }
  regard::HeatMapStyle style;
  style.colormap = regard::Colormap::kBlues;
  style.vmin = 0;
  style.vmax = 0.4;
  style.title = "Self-attention weights";
  style.row_axis = "query position";
  style.column_axis = "key/value position";
  std::ofstream file(path, std::ios::binary);
  file << regard::HeatMapSvg(map, style);
  file.close();
  if (!file) {
    throw regard::Error(regard::ErrorKind::kFile, path, "can't be written");
  }
}

void Run(const std::string& picture, const std::string& weights_path) {
  regard::AttentionModuleOptions options;
  options.need_weights = true;

  // 512 numbers a token in, 64 out: the form of the equation.
  const regard::SelfAttention projection(/*d_model=*/512, /*d_k=*/64);
  const regard::Tensor sentences = RandomInput({2, 6, 512}, 1);
  PrintShapes("SelfAttention(512, 64)", sentences,
              projection.Forward(sentences, options));

  // As wide out as in, with biases and an output projection: the form inside
  // a Transformer.
  regard::SelfAttention embedding(/*embed_dim=*/16);
  regard::Tensor x = RandomInput({3, 5, 16}, 2);
  if (!weights_path.empty()) {
    const auto file = regard::SafeTensors::Open(weights_path);
    LoadFrom(file, embedding);
    if (file.Find("x") != nullptr) x = regard::Tensor::CopyOf(file.Get("x"));
  }
  const regard::AttentionModuleResult result = embedding.Forward(x, options);
  PrintShapes("SelfAttention(16)", x, result);
  const regard::TensorView first = result.weights.view().Select(0, 0);
  std::printf("weights of the first sequence (rows are queries, sum 1)\n");
  PrintMatrix(first);
  WritePicture(picture, first);
  std::printf("\nwrote %s\n", picture.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Run(argc > 1 ? argv[1] : "self_attention.svg", argc > 2 ? argv[2] : "");
  } catch (const regard::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
