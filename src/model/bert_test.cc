#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>

#include "io/file.h"
#include "io/temp_dir.h"
#include "model/test_support.h"
#include "regard/io.h"
#include "regard/model.h"

namespace regard::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kHidden = 8, kHidden4 = 12, kWords = 11, kPositions = 6;

// A BERT of two layers on disk, small enough to break in every way.
class TinyBert {
 public:
  TinyBert() {
    config = {{"model_type", "\"bert\""},       {"hidden_size", "8"},
              {"num_hidden_layers", "2"},       {"num_attention_heads", "2"},
              {"intermediate_size", "12"},      {"vocab_size", "11"},
              {"max_position_embeddings", "6"}, {"type_vocab_size", "2"},
              {"layer_norm_eps", "1e-12"},      {"hidden_act", "\"gelu\""}};
    Add("embeddings.word_embeddings.weight", {kWords, kHidden});
    Add("embeddings.position_embeddings.weight", {kPositions, kHidden});
    Add("embeddings.token_type_embeddings.weight", {2, kHidden});
    AddPair("embeddings.LayerNorm", {kHidden});
    for (int i = 0; i < 2; ++i) {
      const std::string layer = "encoder.layer." + std::to_string(i) + ".";
      const std::string attention = layer + "attention.";
      for (const char* name :
           {"self.query", "self.key", "self.value", "output.dense"}) {
        AddPair(attention + name, {kHidden, kHidden});
      }
      AddPair(attention + "output.LayerNorm", {kHidden});
      AddPair(layer + "intermediate.dense", {kHidden4, kHidden});
      AddPair(layer + "output.dense", {kHidden, kHidden4});
      AddPair(layer + "output.LayerNorm", {kHidden});
    }
  }

  void Add(const std::string& name, const Dims& shape) {
    Tensor tensor(DType::kF32, shape);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      tensor.AsMutable<float>()[i] = normal(generator_);
    }
    tensors[name] = std::move(tensor);
  }
  void AddPair(const std::string& name, const Dims& weight) {
    Add(name + ".weight", weight);
    Add(name + ".bias", {weight[0]});
  }
  // Every name through `rename`.
  void Rename(const std::function<std::string(std::string)>& rename) {
    std::map<std::string, Tensor> renamed;
    for (auto& [name, tensor] : tensors) {
      renamed[rename(name)] = std::move(tensor);
    }
    tensors = std::move(renamed);
  }

  void Write() const {
    std::string json;
    for (const auto& [key, value] : config) {
      json += (json.empty() ? "{\"" : ", \"") + key + "\": " + value;
    }
    WriteFile(Directory() + "/config.json", json + "}");
    NamedViews views;
    for (const auto& [name, tensor] : tensors) {
      views.emplace_back(name, tensor.view());
    }
    WriteSafeTensors(Directory() + "/model.safetensors", views);
  }
  std::unique_ptr<Model> Load() const {
    Write();
    return Model::Load(Directory());
  }
  std::string LoadError(ErrorKind kind = ErrorKind::kFormat) const {
    try {
      Load();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "it loaded";
    return "";
  }
  std::string Directory() const { return directory_.path(); }

  std::map<std::string, std::string> config;  // values as JSON
  std::map<std::string, Tensor> tensors;

 private:
  TempDir directory_;
  std::mt19937 generator_{1};
};

constexpr char kQuery0[] = "encoder.layer.0.attention.self.query.weight";
const std::vector<int64_t> kIds = {1, 5, 0, 10};

std::vector<float> Output(const Model& model, const Encoding& encoding) {
  const Tensor state = model.Forward(encoding).last_hidden_state;
  const float* const data = state.As<float>();
  return std::vector<float>(data, data + state.NumElements());
}

TEST(BertTest, BothNameStylesAndExtraTensors) {
  TinyBert bert;
  const std::vector<float> plain = Output(*bert.Load(), EncodingOf(kIds));
  EXPECT_EQ(plain.size(), 4u * kHidden);
  // As saved with a head on it, long ago.
  bert.Rename([](std::string name) {
    const size_t at = name.find("LayerNorm.");
    if (at != std::string::npos) {
      const bool gain = name.find("weight", at) != std::string::npos;
      name = name.substr(0, at + 10) + (gain ? "gamma" : "beta");
    }
    return "bert." + name;
  });
  bert.AddPair("bert.pooler.dense", {kHidden, kHidden});
  bert.AddPair("cls.predictions.transform.dense", {kHidden, kHidden});
  bert.tensors["bert.embeddings.position_ids"] =
      Tensor(DType::kI64, {1, kPositions});
  EXPECT_EQ(Output(*bert.Load(), EncodingOf(kIds)), plain);
}

TEST(BertTest, SixteenAndSixtyFourBitWeights) {
  TinyBert bert;
  for (auto& [name, tensor] : bert.tensors) {
    tensor = Converted(Converted(tensor, DType::kBF16), DType::kF32);
  }
  const std::vector<float> rounded = Output(*bert.Load(), EncodingOf(kIds));
  for (const DType dtype : {DType::kBF16, DType::kF64}) {
    for (auto& [name, tensor] : bert.tensors) {
      tensor = Converted(tensor, dtype);
    }
    const std::unique_ptr<Model> model = bert.Load();
    EXPECT_EQ(model->info().dtype, Name(dtype));
    EXPECT_EQ(Output(*model, EncodingOf(kIds)), rounded) << Name(dtype);
  }
  for (auto& [name, tensor] : bert.tensors) {
    tensor = Converted(tensor, DType::kF16);
  }
  EXPECT_EQ(bert.Load()->info().dtype, "f16");
  bert.tensors[kQuery0] = Tensor(DType::kI32, {kHidden, kHidden});
  const std::string message = bert.LoadError(ErrorKind::kUnsupported);
  EXPECT_THAT(message, HasSubstr(kQuery0));
  EXPECT_THAT(message, HasSubstr("is i32, which can't be a weight"));
}

TEST(BertTest, ConfigThatContradictsTheTensors) {
  TinyBert bert;
  bert.config["num_hidden_layers"] = "3";
  EXPECT_THAT(bert.LoadError(),
              HasSubstr("holds no tensor "
                        "encoder.layer.2.attention.self.query.weight"));
  bert.config["num_hidden_layers"] = "1";
  EXPECT_THAT(bert.LoadError(), HasSubstr("num_hidden_layers is 1, but"));
  bert.config["num_hidden_layers"] = "2";
  bert.config["hidden_size"] = "10";
  EXPECT_THAT(bert.LoadError(),
              HasSubstr("tensor embeddings.word_embeddings.weight is [11, 8], "
                        "but config.json makes it [11, 10]"));
  bert.config["hidden_size"] = "8";
  bert.config["intermediate_size"] = "2147483647";
  EXPECT_THAT(bert.LoadError(), HasSubstr("intermediate.dense.weight is [12, "
                                          "8], but config.json makes it "
                                          "[2147483647, 8]"));
  bert.config["intermediate_size"] = "12";
  bert.config["vocab_size"] = "12";
  EXPECT_THAT(bert.LoadError(), HasSubstr("[12, 8]"));
  bert.config["vocab_size"] = "11";
  bert.config["max_position_embeddings"] = "7";
  EXPECT_THAT(bert.LoadError(), HasSubstr("position_embeddings"));
  bert.config["max_position_embeddings"] = "6";
  bert.config["type_vocab_size"] = "1";
  EXPECT_THAT(bert.LoadError(), HasSubstr("token_type_embeddings"));
  bert.config["type_vocab_size"] = "2";
  bert.Load();
}

TEST(BertTest, ImpossibleConfigs) {
  TinyBert bert;
  for (const auto& [key, value, message] :
       {std::tuple{"num_attention_heads", "3",
                   "num_attention_heads: is 3, which does not divide "
                   "hidden_size = 8"},
        {"num_attention_heads", "0", "num_attention_heads: is 0, but has"},
        {"hidden_size", "-8", "hidden_size: is -8, but has to be from 1"},
        {"hidden_size", "\"8\"", "hidden_size"},
        {"num_hidden_layers", "9223372036854775807", "num_hidden_layers: is"},
        {"vocab_size", "null", "vocab_size: missing"},
        {"layer_norm_eps", "-1", "layer_norm_eps: is -1"}}) {
    const std::string before = bert.config[key];
    bert.config[key] = value;
    EXPECT_THAT(bert.LoadError(), HasSubstr(message));
    bert.config[key] = before;
  }
}

TEST(BertTest, SettingsThatItCannotComputeAreNamed) {
  TinyBert bert;
  for (const auto& [key, value] :
       {std::pair{"position_embedding_type", "\"relative_key\""},
        {"hidden_act", "\"gelu_new\""},
        {"is_decoder", "true"},
        {"add_cross_attention", "true"}}) {
    const std::map<std::string, std::string> before = bert.config;
    bert.config[key] = value;
    const std::string message = bert.LoadError(ErrorKind::kUnsupported);
    EXPECT_THAT(message, HasSubstr(std::string("config.json: ") + key));
    bert.config = before;
  }
}

TEST(BertTest, MissingAndMisshapenTensors) {
  TinyBert bert;
  bert.Add(kQuery0, {kHidden, kHidden + 1});
  EXPECT_THAT(bert.LoadError(),
              HasSubstr(std::string("tensor ") + kQuery0 +
                        " is [8, 9], but config.json makes it [8, 8]"));
  bert.tensors.erase(kQuery0);
  EXPECT_THAT(bert.LoadError(),
              HasSubstr(std::string("holds no tensor ") + kQuery0));
  bert.Rename([](const std::string& name) { return "model." + name; });
  EXPECT_THAT(bert.LoadError(), HasSubstr("holds no tensor of a BERT"));
}

TEST(BertTest, TextsThatItCannotRead) {
  const TinyBert bert;
  const std::unique_ptr<Model> model = bert.Load();
  const auto message = [&](const Encoding& encoding) -> std::string {
    try {
      model->Forward(encoding);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kArgument);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(EncodingOf(std::vector<int64_t>(7, 1))),
              HasSubstr("the text has 7 tokens, the model reads at most 6"));
  EXPECT_EQ(message(EncodingOf(std::vector<int64_t>(6, 1))), "");
  EXPECT_THAT(message(EncodingOf({1, 11})),
              HasSubstr("token 1 has the id 11, the vocabulary has 11 pieces"));
  EXPECT_THAT(message(EncodingOf({-1})), HasSubstr("the id -1"));
  EXPECT_THAT(message(EncodingOf({1}, {2})), HasSubstr("segment 2"));
  EXPECT_EQ(model->Forward(EncodingOf({})).last_hidden_state.shape(),
            (Dims{0, kHidden}));
}

TEST(BertTest, NonFiniteWeightsAreComputedAndNamed) {
  TinyBert bert;
  bert.tensors[kQuery0].AsMutable<float>()[3] = NAN;
  bert.tensors["embeddings.word_embeddings.weight"]
      .AsMutable<float>()[7 * kHidden] = std::numeric_limits<float>::infinity();
  const std::unique_ptr<Model> model = bert.Load();
  EXPECT_TRUE(model->NonFiniteWeights().empty()) << "nothing was read so far";
  EXPECT_TRUE(std::isnan(Output(*model, EncodingOf(kIds))[0]));
  EXPECT_THAT(model->NonFiniteWeights(),
              ElementsAre("embeddings.word_embeddings.weight", kQuery0));
}

TEST(BertTest, SegmentsAndPositionsMatter) {
  const TinyBert bert;
  const std::unique_ptr<Model> model = bert.Load();
  const std::vector<float> one = Output(*model, EncodingOf(kIds));
  EXPECT_NE(one, Output(*model, EncodingOf(kIds, {0, 0, 1, 1})));
  const std::vector<float> same = Output(*model, EncodingOf({1, 1}));
  EXPECT_NE(std::vector<float>(same.begin(), same.begin() + kHidden),
            std::vector<float>(same.begin() + kHidden, same.end()));
}

// Receives every layer once, in order.
class Layers : public AttentionObserver {
 public:
  void OnAttention(const AttentionCall& call) override {
    seen.push_back(call.layer);
    EXPECT_EQ(call.problem->q.shape, (Dims{1, 2, 4, 4}));
    EXPECT_EQ(call.out.shape, (Dims{1, 2, 4, 4}));
    EXPECT_EQ(call.output_projection.shape, (Dims{kHidden, kHidden}));
  }
  std::vector<int> seen;
};

TEST(BertTest, ObserverAndHiddenStates) {
  const TinyBert bert;
  const std::unique_ptr<Model> model = bert.Load();
  Layers layers;
  const ModelOutput output = model->Forward(
      EncodingOf(kIds), {.observer = &layers, .hidden_states = true});
  EXPECT_THAT(layers.seen, ElementsAre(0, 1));
  ASSERT_EQ(output.hidden_states.size(), 3u);
  const float* const last = output.last_hidden_state.As<float>();
  EXPECT_TRUE(std::equal(last, last + 4 * kHidden,
                         output.hidden_states[2].As<float>()));
  EXPECT_TRUE(model->Forward(EncodingOf(kIds)).hidden_states.empty());
}

}  // namespace
}  // namespace regard::inline v0
