#include "tiny_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "io/file.h"
#include "regard/io.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t kHidden = 8, kWide = 16, kPositions = 16, kWords = 16;
constexpr int kLayers = 2;

constexpr char kConfig[] = R"({
  "model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2,
  "num_attention_heads": 2, "intermediate_size": 16, "hidden_act": "gelu",
  "layer_norm_eps": 1e-12, "max_position_embeddings": 16,
  "type_vocab_size": 2, "vocab_size": 16, "position_embedding_type": "absolute"
})";

constexpr char kTokenizer[] = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "[PAD]", "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false, "special": true},
    {"id": 1, "content": "[UNK]", "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false, "special": true},
    {"id": 2, "content": "[CLS]", "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false, "special": true},
    {"id": 3, "content": "[SEP]", "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false, "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true,
    "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
             {"Sequence": {"id": "B", "type_id": 1}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
    "special_tokens": {
      "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
      "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
    "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "the": 4,
      "animal": 5, "was": 6, "too": 7, "tired": 8, "it": 9, "street": 10,
      "cross": 11, "##ed": 12, ".": 13, "suit": 14, "##case": 15}}
})";

class TensorMaker {
 public:
  explicit TensorMaker(NamedTensors& tensors) : tensors_(tensors) {}

  void Random(const std::string& name, const Dims& shape) {
    Tensor tensor(DType::kF32, shape);
    std::uniform_real_distribution<float> numbers(-1, 1);
    float* values = tensor.AsMutable<float>();
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      values[i] = numbers(random_);
    }
    tensors_[name] = std::move(tensor);
  }

  void Linear(const std::string& name, int64_t out, int64_t in) {
    Random(name + ".weight", {out, in});
    Random(name + ".bias", {out});
  }

  void Norm(const std::string& name) {
    Random(name + ".weight", {kHidden});
    Random(name + ".bias", {kHidden});
  }

 private:
  NamedTensors& tensors_;
  std::mt19937 random_{1};
};

NamedTensors MakeTensors() {
  NamedTensors tensors;
  TensorMaker make(tensors);
  make.Random("embeddings.word_embeddings.weight", {kWords, kHidden});
  make.Random("embeddings.position_embeddings.weight", {kPositions, kHidden});
  make.Random("embeddings.token_type_embeddings.weight", {2, kHidden});
  make.Norm("embeddings.LayerNorm");
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    for (const char* name : {"query", "key", "value"}) {
      make.Linear(layer + "attention.self." + name, kHidden, kHidden);
    }
    make.Linear(layer + "attention.output.dense", kHidden, kHidden);
    make.Norm(layer + "attention.output.LayerNorm");
    make.Linear(layer + "intermediate.dense", kWide, kHidden);
    make.Linear(layer + "output.dense", kHidden, kWide);
    make.Norm(layer + "output.LayerNorm");
  }
  return tensors;
}

}  // namespace

void WriteTinyModel(const std::string& directory,
                    const std::function<void(NamedTensors&)>& change) {
  std::filesystem::create_directories(directory);
  WriteFile(directory + "/config.json", kConfig);
  WriteFile(directory + "/tokenizer.json", kTokenizer);
  NamedTensors tensors = MakeTensors();
  if (change) change(tensors);
  NamedViews views;
  for (const auto& [name, tensor] : tensors) views.emplace_back(name, tensor);
  WriteSafeTensors(directory + "/model.safetensors", views);
}

void ReplaceInFile(const std::string& path, const std::string& old_text,
                   const std::string& new_text) {
  std::string text = ReadText(path);
  const size_t at = text.find(old_text);
  ASSERT_NE(at, text.npos) << old_text;
  WriteFile(path, text.replace(at, old_text.size(), new_text));
}

}  // namespace regard::inline v0
