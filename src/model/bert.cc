// BERT (Devlin et al. 2018): the sum of three embeddings, normalised, then
// post-norm encoder layers.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/strings.h"
#include "model/bert_config.h"
#include "model/bound_weights.h"
#include "model/family.h"
#include "nn/elementwise.h"
#include "regard/nn.h"

namespace regard::inline v0 {

namespace {

// What comes before "embeddings" in the names of this file: "bert." when the
// model was saved with a head on it, or nothing.
std::string FindPrefix(const Checkpoint& checkpoint) {
  for (const char* prefix : {"bert.", ""}) {
    const std::string start = std::string(prefix) + "embeddings.";
    for (const SafeTensors::Entry& entry : checkpoint.tensors.entries()) {
      if (entry.name.rfind(start, 0) == 0) return prefix;
    }
  }
  std::vector<std::string> some;
  for (const SafeTensors::Entry& entry : checkpoint.tensors.entries()) {
    if (some.size() == 3) break;
    some.push_back(entry.name);
  }
  throw Error(ErrorKind::kFormat, checkpoint.weights_path,
              "holds no tensor of a BERT (embeddings.* or bert.embeddings.*)",
              some.empty() ? "it holds no tensor at all"
                           : "its tensors begin with " + Join(some));
}

// A file with more layers than config.json names is another model.
void RequireNoFurtherLayer(const Checkpoint& checkpoint,
                           const std::string& prefix, int64_t layers) {
  const std::string start = prefix + "encoder.layer.";
  for (const SafeTensors::Entry& entry : checkpoint.tensors.entries()) {
    if (entry.name.rfind(start, 0) != 0) continue;
    const char* const number = entry.name.data() + start.size();
    int64_t layer = 0;
    const auto [end, error] =
        std::from_chars(number, entry.name.data() + entry.name.size(), layer);
    if (error != std::errc() || *end != '.' || layer < layers) continue;
    throw Error(ErrorKind::kFormat, checkpoint.config.path(),
                fmt::format("num_hidden_layers is {}, but {} holds {}", layers,
                            checkpoint.weights_path, entry.name),
                "the two files do not belong together");
  }
}

class BertModel : public Model {
 public:
  explicit BertModel(Checkpoint checkpoint);
  const ModelInfo& info() const override { return info_; }
  ModelOutput Forward(const Encoding& encoding,
                      const ForwardOptions& options) const override;
  std::vector<std::string> NonFiniteWeights() const override;

 private:
  void BindEmbeddings(const std::string& prefix);
  void BindLayer(const std::string& prefix, EncoderLayer& layer);
  void BindLinear(const std::string& name, Linear& linear);
  void BindNorm(const std::string& name, LayerNorm& norm);
  void RequireReadable(const std::vector<Token>& tokens) const;
  Tensor Embed(const std::vector<Token>& tokens, int threads) const;

  const Checkpoint checkpoint_;  // keeps the weights mapped
  const BertConfig config_;
  BoundWeights weights_;
  Embedding words_, positions_, segments_;
  LayerNorm norm_;
  std::vector<EncoderLayer> layers_;
  ModelInfo info_;
  // Set when an output was not finite: only then are 90 MB worth reading.
  mutable std::atomic<bool> saw_non_finite_{false};
};

BertModel::BertModel(Checkpoint checkpoint)
    : checkpoint_(std::move(checkpoint)),
      config_(ReadBertConfig(checkpoint_.config)),
      weights_(checkpoint_.tensors, checkpoint_.weights_path),
      words_(config_.vocabulary, config_.hidden),
      positions_(config_.positions, config_.hidden),
      segments_(config_.segments, config_.hidden),
      norm_(0, config_.eps) {
  const std::string prefix = FindPrefix(checkpoint_);
  BindEmbeddings(prefix);
  RequireNoFurtherLayer(checkpoint_, prefix, config_.layers);
  for (int64_t i = 0; i < config_.layers; ++i) {
    EncoderLayer layer(config_.hidden, config_.heads, config_.intermediate,
                       config_.eps);
    BindLayer(fmt::format("{}encoder.layer.{}.", prefix, i), layer);
    layers_.push_back(std::move(layer));
  }
  info_ = {.family = "bert",
           .layers = static_cast<int>(config_.layers),
           .heads = static_cast<int>(config_.heads),
           .kv_heads = static_cast<int>(config_.heads),
           .hidden_size = config_.hidden,
           .head_size = config_.hidden / config_.heads,
           .intermediate_size = config_.intermediate,
           .vocabulary_size = config_.vocabulary,
           .max_positions = config_.positions,
           .parameters = weights_.parameters(),
           .dtype = weights_.StoredTypes(),
           .weights_path = checkpoint_.weights_path};
}

void BertModel::BindLinear(const std::string& name, Linear& linear) {
  weights_.Bind({name + ".weight"}, linear.weight);
  weights_.Bind({name + ".bias"}, linear.bias);
}

// Files converted from TensorFlow call gain and bias gamma and beta.
void BertModel::BindNorm(const std::string& name, LayerNorm& norm) {
  weights_.Bind({name + ".weight", name + ".gamma"}, norm.weight);
  weights_.Bind({name + ".bias", name + ".beta"}, norm.bias);
}

void BertModel::BindEmbeddings(const std::string& prefix) {
  const std::string start = prefix + "embeddings.";
  weights_.Bind({start + "word_embeddings.weight"}, words_.weight);
  weights_.Bind({start + "position_embeddings.weight"}, positions_.weight);
  weights_.Bind({start + "token_type_embeddings.weight"}, segments_.weight);
  // Made only now, since a norm owns its values until it is bound: the tables
  // have confirmed the size.
  norm_ = LayerNorm(config_.hidden, config_.eps);
  BindNorm(start + "LayerNorm", norm_);
}

void BertModel::BindLayer(const std::string& prefix, EncoderLayer& layer) {
  const std::string attention = prefix + "attention.";
  BindLinear(attention + "self.query", layer.attention.q_proj);
  BindLinear(attention + "self.key", layer.attention.k_proj);
  BindLinear(attention + "self.value", layer.attention.v_proj);
  BindLinear(attention + "output.dense", layer.attention.out_proj);
  BindNorm(attention + "output.LayerNorm", layer.norm1);
  BindLinear(prefix + "intermediate.dense", layer.feed_forward.up);
  BindLinear(prefix + "output.dense", layer.feed_forward.down);
  BindNorm(prefix + "output.LayerNorm", layer.norm2);
}

void BertModel::RequireReadable(const std::vector<Token>& tokens) const {
  const int64_t length = static_cast<int64_t>(tokens.size());
  if (length > config_.positions) {
    throw Error(ErrorKind::kArgument, "Model::Forward",
                fmt::format("the text has {} tokens, the model reads at most "
                            "{}",
                            length, config_.positions),
                "shorten the text, or let the tokenizer truncate it");
  }
  for (int64_t i = 0; i < length; ++i) {
    const Token& token = tokens[static_cast<size_t>(i)];
    if (token.id < 0 || token.id >= config_.vocabulary) {
      throw Error(ErrorKind::kArgument, "Model::Forward",
                  fmt::format("token {} has the id {}, the vocabulary has {} "
                              "pieces",
                              i, token.id, config_.vocabulary),
                  "use the tokenizer of this model");
    }
    if (token.segment < 0 || token.segment >= config_.segments) {
      throw Error(ErrorKind::kArgument, "Model::Forward",
                  fmt::format("token {} is in segment {}, the model knows {}",
                              i, token.segment, config_.segments));
    }
  }
}

Tensor BertModel::Embed(const std::vector<Token>& tokens, int threads) const {
  std::vector<int64_t> ids, segments, positions(tokens.size());
  for (const Token& token : tokens) {
    ids.push_back(token.id);
    segments.push_back(token.segment);
  }
  std::iota(positions.begin(), positions.end(), int64_t{0});
  Tensor sum = words_.Forward(ids);
  AddInPlace(sum, segments_.Forward(segments), threads);
  AddInPlace(sum, positions_.Forward(positions), threads);
  return norm_.Forward(sum, threads);
}

ModelOutput BertModel::Forward(const Encoding& encoding,
                               const ForwardOptions& options) const {
  RequireReadable(encoding.tokens);
  ModelOutput output;
  Tensor state = Embed(encoding.tokens, options.threads);
  AttentionModuleOptions attention;
  attention.threads = options.threads;
  attention.observer = options.observer;
  for (size_t i = 0; i < layers_.size(); ++i) {
    attention.layer = static_cast<int>(i);
    Tensor next = layers_[i].Forward(state, attention);
    if (options.hidden_states) output.hidden_states.push_back(std::move(state));
    state = std::move(next);
  }
  if (options.hidden_states) output.hidden_states.push_back(state.Clone());
  if (!AllFinite(state)) saw_non_finite_ = true;
  output.last_hidden_state = std::move(state);
  return output;
}

std::vector<std::string> BertModel::NonFiniteWeights() const {
  if (!saw_non_finite_) return {};
  return weights_.NonFinite(/*threads=*/0);
}

}  // namespace

std::unique_ptr<Model> LoadBert(Checkpoint checkpoint) {
  return std::make_unique<BertModel>(std::move(checkpoint));
}

}  // namespace regard::inline v0
