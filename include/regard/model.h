// Checkpoint to model: a directory with config.json, tokenizer.json and
// model.safetensors (or its shards).
#ifndef REGARD_MODEL_H_
#define REGARD_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "regard/tensor.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

struct ModelInfo {
  std::string family;  // "bert"
  int layers = 0, heads = 0, kv_heads = 0;
  int64_t hidden_size = 0, head_size = 0, intermediate_size = 0;
  int64_t vocabulary_size = 0, max_positions = 0;
  int64_t parameters = 0;    // numbers that the model uses
  std::string dtype;         // type of the stored weights, "f32"
  std::string weights_path;  // the file, or the index of its shards
};

struct ForwardOptions {
  AttentionObserver* observer = nullptr;  // not owned
  bool hidden_states = false;             // keep the state after every layer
  int threads = 0;                        // 0: all cores
};

struct ModelOutput {
  Tensor last_hidden_state;  // [L, hidden]
  // On request: embeddings, then the state after each layer; [L, hidden] each.
  std::vector<Tensor> hidden_states;
};

class Model {
 public:
  // Error: kFile (missing file), kFormat (broken file, config that contradicts
  // the tensors), kUnsupported (family, type or setting named).
  static std::unique_ptr<Model> Load(const std::string& directory);
  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;
  // Error (kArgument) when an id is outside the vocabulary or the text is
  // longer than max_positions (both numbers named).
  virtual ModelOutput Forward(const Encoding& encoding,
                              const ForwardOptions& options = {}) const = 0;
  // Names of weight tensors that hold a NaN or an infinity among those that
  // were read so far for inference; empty when all are finite.
  virtual std::vector<std::string> NonFiniteWeights() const = 0;
};

// Names of the families this version can load.
std::vector<std::string> ModelFamilies();

}  // namespace regard::inline v0

#endif  // REGARD_MODEL_H_
