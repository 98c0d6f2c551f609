// Writes all attention weights and hidden states of a model for given ids, for
// `tests/golden/make_minilm.py compare`.
//
// Usage: dump_model MODEL_DIRECTORY INPUTS.safetensors OUTPUT.safetensors
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "model/test_support.h"
#include "regard/io.h"
#include "regard/lens.h"
#include "regard/model.h"

namespace {

using namespace regard;  // NOLINT: a test program of one file

// Equal arrays stacked along a new first axis.
Tensor Stacked(const std::vector<Tensor>& parts) {
  Dims shape = {static_cast<int64_t>(parts.size())};
  for (const int64_t size : parts[0].shape()) shape.push_back(size);
  Tensor all(DType::kF32, shape);
  float* to = all.AsMutable<float>();
  for (const Tensor& part : parts) {
    to = std::copy_n(part.As<float>(), part.NumElements(), to);
  }
  return all;
}

Tensor AllWeights(const AttentionMaps& maps) {
  std::vector<Tensor> layers;
  for (int layer = 0; layer < maps.layers(); ++layer) {
    std::vector<Tensor> heads;
    for (int head = 0; head < maps.heads(); ++head) {
      heads.push_back(Tensor::CopyOf(maps.Map({layer, head})));
    }
    layers.push_back(Stacked(heads));
  }
  return Stacked(layers);
}

void Dump(const std::string& directory, const std::string& inputs,
          const std::string& output) {
  const std::unique_ptr<Model> model = Model::Load(directory);
  const SafeTensors file = SafeTensors::Open(inputs);
  std::vector<std::unique_ptr<Tensor>> kept;
  NamedViews named;
  for (int i = 0; file.Find(std::to_string(i) + ".ids") != nullptr; ++i) {
    const std::string name = std::to_string(i);
    const TensorView ids = file.Get(name + ".ids");
    const TensorView segments = file.Get(name + ".segments");
    AttentionMaps maps;
    const ModelOutput out =
        model->Forward(EncodingOf(Int64s(ids), Int64s(segments)),
                       {.observer = &maps, .hidden_states = true});
    kept.push_back(std::make_unique<Tensor>(AllWeights(maps)));
    named.emplace_back(name + ".attention", *kept.back());
    kept.push_back(std::make_unique<Tensor>(Stacked(out.hidden_states)));
    named.emplace_back(name + ".hidden", *kept.back());
    named.emplace_back(name + ".ids", ids);
    named.emplace_back(name + ".segments", segments);
  }
  WriteSafeTensors(output, named);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s MODEL_DIRECTORY INPUTS OUTPUT\n", argv[0]);
    return 2;
  }
  try {
    Dump(argv[1], argv[2], argv[3]);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
