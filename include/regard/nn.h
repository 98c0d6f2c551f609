// The modules people learn and use. Each owns its parameters, or is bound to
// somebody else's memory (a mapped checkpoint), and lists them by name.
//
// Weights are [out, in]: y = x W^T + b. Inputs are [B, L, d_model] or
// [L, d_model], f32, any strides; outputs are contiguous and have the rank of
// the input. B = 0 and L = 0 are legal. Modules are not changed by Forward, so
// several threads may share one.
//
// A row of an output depends on nothing but its own sequence: same instruction
// set, same bits, for any number of threads, batch and neighbours.
//
// Errors (kArgument) name module, shapes and rule; a parameter that was never
// given values is one of them.
#ifndef REGARD_NN_H_
#define REGARD_NN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "regard/mask.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// A parameter of a module: a shape, and values that are either the module's own
// or somebody else's memory, which then must outlive the module. It has none
// until it is bound, assigned or initialised, so that a large model costs
// nothing before its file is mapped.
class Parameter {
 public:
  Parameter() = default;  // not given: a module without a bias
  explicit Parameter(const Dims& shape);
  Parameter(Parameter&&) = default;
  Parameter& operator=(Parameter&&) = default;

  const Dims& shape() const { return view_.shape; }
  bool given() const { return view_.given(); }
  bool has_values() const { return view_.data != nullptr; }
  const TensorView& view() const { return view_; }
  const float* data() const { return view_.As<float>(); }
  // Uses the memory in place. Error (kArgument) unless f32, contiguous and of
  // the same shape.
  void Bind(const TensorView& memory);
  // Copies f32 values of the same shape and any strides.
  void Assign(const TensorView& values);
  // Every element becomes `value`.
  void Fill(float value);

 private:
  Tensor owned_;
  TensorView view_;
};

struct NamedParameter {
  std::string name;  // "q_proj.weight"
  Parameter* parameter;
};

// Every module lists its parameters, in a fixed order, so that a caller can
// bind, load, save or train them without knowing the module.
class Module {
 public:
  virtual ~Module() = default;
  virtual std::vector<NamedParameter> Parameters() = 0;
  // Copies parameters from named tensors (f32). Error (kArgument) naming a
  // missing, superfluous or misshapen one; nothing is changed then.
  void Load(const std::vector<std::pair<std::string, TensorView>>& tensors);
};

// Xavier-uniform matrices (Glorot & Bengio 2010): [out, in] uniform in
// +-sqrt(6 / (in + out)); vectors become 0, except those named "weight" (the
// gains of a norm), which become 1. Same seed, same numbers on every machine.
void InitializeXavier(Module& module, uint64_t seed);

// y = x W^T + b over the last axis.
class Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, bool bias = true);
  std::vector<NamedParameter> Parameters() override;
  Tensor Forward(const TensorView& x, int threads = 0) const;
  int64_t in_features() const { return weight.shape()[1]; }
  int64_t out_features() const { return weight.shape()[0]; }

  Parameter weight;  // [out, in]
  Parameter bias;    // [out], or not given
};

// (x - mean) / sqrt(variance + eps) * weight + bias over the last axis, with
// the biased variance (Ba et al. 2016), in double precision. Fresh parameters
// are 1 and 0.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t size, double eps = 1e-5);
  std::vector<NamedParameter> Parameters() override;
  Tensor Forward(const TensorView& x, int threads = 0) const;

  Parameter weight, bias;  // [size]
  double eps;
};

// Rows of a table; Error (kArgument) naming id and table size when one is out
// of range.
class Embedding : public Module {
 public:
  Embedding(int64_t count, int64_t size);
  std::vector<NamedParameter> Parameters() override;
  Tensor Forward(const std::vector<int64_t>& ids) const;  // [n, size]

  Parameter weight;  // [count, size]
};

// x * Phi(x) with Phi the normal distribution (Hendrycks & Gimpel 2016; the
// exact form, not the tanh one), in place; f32, contiguous. Relative error
// below 5e-7 (6e-6 far below 0 on processors without fused multiply-add) down
// to the smallest normal result; NaN and -infinity give NaN.
void Gelu(MutableTensorView x, int threads = 0);

struct AttentionModuleOptions {
  Mask mask;
  std::optional<QueryOffset> query_offset;
  bool need_weights = false;
  int threads = 0;
  AttentionObserver* observer = nullptr;
  int layer = 0;  // what the observer is told
};

struct AttentionModuleResult {
  Tensor output;   // [B, L, d_out], or [L, d_out]
  Tensor weights;  // on request; asking never changes the output
};

// Single-head self-attention:
//   Q = x W_Q, K = x W_K, V = x W_V,
//   output = softmax(Q K^T / sqrt(d_k) + mask) V.
//
// Two forms:
//   SelfAttention(d_model, d_k, bias = false): no output projection;
//     (B, L, d_model) -> output (B, L, d_k), weights (B, L, L);
//   SelfAttention(embed_dim): with biases and an output projection;
//     (B, L, embed_dim) -> output (B, L, embed_dim), weights (B, L, L).
//
// Parameters: q_proj, k_proj, v_proj[, out_proj] . weight[, bias]. Fresh
// parameters are Xavier-uniform from `seed` (second form: 0), biases 0.
//
// A row without a visible key gives weights 0 and attention output 0 (tutorial
// code that adds -1e9 gives a uniform row there; for every row with at least
// one visible key the two agree).
class SelfAttention : public Module {
 public:
  SelfAttention(int64_t d_model, int64_t d_k, bool bias = false,
                uint64_t seed = 0);
  explicit SelfAttention(int64_t embed_dim);
  std::vector<NamedParameter> Parameters() override;
  // x: [B, L, d_model] or [L, d_model]. A boolean mask is broadcast to
  // [B, L, L] (also taken: [B, 1, L, L]); true means "may attend".
  AttentionModuleResult Forward(
      const TensorView& x, const AttentionModuleOptions& options = {}) const;

  Linear q_proj, k_proj, v_proj;
  std::optional<Linear> out_proj;
};

// Multi-head attention of queries x over keys and values `context` (Vaswani et
// al. 2017, section 3.2.2). Weights per head: [B, Hq, Lq, Lk], or [Hq, Lq, Lk]
// for an input without batch. Masks as in AttentionProblem, but with a batch,
// an array [n, Lq, Lk] is refused, whose n might be of sequences or of heads:
// give [B, 1, Lq, Lk] or [1, heads, Lq, Lk]. Empty rows as in SelfAttention.
class MultiHeadAttention : public Module {
 public:
  // head_size unset: d_model / heads, which must divide.
  MultiHeadAttention(int64_t d_model, int64_t heads, bool bias = true,
                     std::optional<int64_t> kv_heads = std::nullopt,
                     std::optional<int64_t> head_size = std::nullopt);
  std::vector<NamedParameter> Parameters() override;
  // x: [B, Lq, d_model]; context: [B, Lk, d_model] (both without B for one
  // sequence), or not given for self-attention.
  AttentionModuleResult Forward(const TensorView& x,
                                const AttentionModuleOptions& options = {},
                                const TensorView& context = {}) const;

  const int64_t heads, kv_heads, head_size;
  Linear q_proj, k_proj, v_proj, out_proj;
};

// Linear, GELU, Linear.
class FeedForward : public Module {
 public:
  FeedForward(int64_t d_model, int64_t d_hidden);
  std::vector<NamedParameter> Parameters() override;
  Tensor Forward(const TensorView& x, int threads = 0) const;

  Linear up, down;
};

// Post-norm encoder layer, as in BERT (Devlin et al. 2018):
//   x = norm1(x + attention(x)); x = norm2(x + feed_forward(x)).
class EncoderLayer : public Module {
 public:
  EncoderLayer(int64_t d_model, int64_t heads, int64_t d_hidden, double eps);
  std::vector<NamedParameter> Parameters() override;
  Tensor Forward(const TensorView& x,
                 const AttentionModuleOptions& options = {}) const;

  MultiHeadAttention attention;
  LayerNorm norm1;
  FeedForward feed_forward;
  LayerNorm norm2;
};

}  // namespace regard::inline v0

#endif  // REGARD_NN_H_
