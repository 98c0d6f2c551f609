#include <string>
#include <variant>

#include "nn/attention_core.h"
#include "nn/input.h"
#include "nn/parameter_list.h"
#include "regard/nn.h"

namespace regard::inline v0 {

namespace {

[[noreturn]] void Bad(const std::string& reason) {
  throw Error(ErrorKind::kArgument, "MultiHeadAttention", reason);
}

// The size of a head after all rules are checked.
int64_t HeadSize(int64_t d_model, int64_t heads, int64_t kv_heads,
                 std::optional<int64_t> head_size) {
  if (heads < 1 || kv_heads < 1) {
    Bad("heads = " + std::to_string(heads) + " and kv_heads = " +
        std::to_string(kv_heads) + ", but both have to be at least 1");
  }
  if (heads % kv_heads != 0) {
    Bad("heads = " + std::to_string(heads) +
        " is not a multiple of kv_heads = " + std::to_string(kv_heads));
  }
  if (head_size) {
    if (*head_size < 0) {
      Bad("head_size = " + std::to_string(*head_size) + " is negative");
    }
    return *head_size;
  }
  if (d_model % heads != 0) {
    Bad("d_model = " + std::to_string(d_model) +
        " is not a multiple of heads = " + std::to_string(heads));
  }
  return d_model / heads;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t d_model, int64_t heads,
                                       bool bias,
                                       std::optional<int64_t> kv_heads,
                                       std::optional<int64_t> head_size)
    : heads(heads),
      kv_heads(kv_heads.value_or(heads)),
      head_size(HeadSize(d_model, heads, this->kv_heads, head_size)),
      q_proj(d_model, heads * this->head_size, bias),
      k_proj(d_model, this->kv_heads * this->head_size, bias),
      v_proj(d_model, this->kv_heads * this->head_size, bias),
      out_proj(heads * this->head_size, d_model, bias) {}

std::vector<NamedParameter> MultiHeadAttention::Parameters() {
  return Prefixed({{"q_proj", &q_proj},
                   {"k_proj", &k_proj},
                   {"v_proj", &v_proj},
                   {"out_proj", &out_proj}});
}

namespace {

// The axis of heads or the axis of sequences of [n, Lq, Lk]: numpy's rules say
// heads, SelfAttention says sequences, and other libraries say both in one.
struct RequireNamedAxes {
  template <typename M>
  void operator()(const M&) const {}
  void operator()(const BooleanMask& mask) const { Require(mask.allowed); }
  void operator()(const BitMask& mask) const { Require(mask.bytes); }
  void operator()(const BlockSparseMask& mask) const { Require(mask.layout); }
  static void Require(const TensorView& pattern) {
    if (pattern.rank() != 3 || pattern.shape[0] == 1) return;
    Bad("a mask of shape " + ToString(pattern.shape) +
        " doesn't tell whether its first axis counts sequences or heads: give "
        "[B, 1, Lq, Lk] or [1, heads, Lq, Lk]");
  }
};

// Keys and values come from `context`, of the same batch as x.
Sequences ContextOf(const TensorView& x, const TensorView& context,
                    const Sequences& queries) {
  const Sequences keys = SequencesOf("MultiHeadAttention", "context", context);
  if (keys.batched != queries.batched || keys.batch != queries.batch) {
    Bad("x is " + ToString(x.shape) + " and context is " +
        ToString(context.shape) + ", but their batch has to be the same");
  }
  return keys;
}

}  // namespace

AttentionModuleResult MultiHeadAttention::Forward(
    const TensorView& x, const AttentionModuleOptions& options,
    const TensorView& context) const {
  const TensorView& source = context.given() ? context : x;
  const Rows x_rows("MultiHeadAttention", x, q_proj.in_features(), "d_model");
  const Rows source_rows("MultiHeadAttention", source, k_proj.in_features(),
                         "d_model");
  const Sequences queries = SequencesOf("MultiHeadAttention", "x", x);
  const Sequences keys =
      context.given() ? ContextOf(x, context, queries) : queries;
  for (const MaskTerm& term : options.mask.terms()) {
    if (queries.batched) std::visit(RequireNamedAxes(), term);
  }
  const Tensor q = q_proj.Forward(x_rows.view(), options.threads);
  const Tensor k = k_proj.Forward(source_rows.view(), options.threads);
  const Tensor v = v_proj.Forward(source_rows.view(), options.threads);
  AttentionProblem problem;
  problem.q = SplitHeads(q, queries.batch, queries.length, heads);
  problem.k = SplitHeads(k, keys.batch, keys.length, kv_heads);
  problem.v = SplitHeads(v, keys.batch, keys.length, kv_heads);
  problem.mask = options.mask;
  problem.query_offset = options.query_offset;
  AttentionModuleResult result =
      AttendAndJoin("MultiHeadAttention", problem, options,
                    out_proj.weight.view(), queries.batched,
                    /*single_head=*/false);
  result.output = out_proj.Forward(result.output, options.threads);
  return result;
}

}  // namespace regard::inline v0
