#include <utility>
#include <variant>

#include "nn/attention_core.h"
#include "nn/input.h"
#include "nn/parameter_list.h"
#include "regard/nn.h"

namespace regard::inline v0 {

SelfAttention::SelfAttention(int64_t d_model, int64_t d_k, bool bias,
                             uint64_t seed)
    : q_proj(d_model, d_k, bias),
      k_proj(d_model, d_k, bias),
      v_proj(d_model, d_k, bias) {
  InitializeXavier(*this, seed);
}

SelfAttention::SelfAttention(int64_t embed_dim)
    : q_proj(embed_dim, embed_dim),
      k_proj(embed_dim, embed_dim),
      v_proj(embed_dim, embed_dim),
      out_proj(std::in_place, embed_dim, embed_dim) {
  InitializeXavier(*this, 0);
}

std::vector<NamedParameter> SelfAttention::Parameters() {
  if (!out_proj) {
    return Prefixed(
        {{"q_proj", &q_proj}, {"k_proj", &k_proj}, {"v_proj", &v_proj}});
  }
  return Prefixed({{"q_proj", &q_proj},
                   {"k_proj", &k_proj},
                   {"v_proj", &v_proj},
                   {"out_proj", &*out_proj}});
}

namespace {

// There is one head, so the natural pattern [B, Lq, Lk] lacks the axis of
// heads.
struct WithHeadAxis {
  template <typename M>
  Mask operator()(const M& mask) const {
    return Mask(mask);
  }
  Mask operator()(const BooleanMask& boolean) const {
    return Mask::Boolean(With(boolean.allowed));
  }
  Mask operator()(const BitMask& bits) const {
    return Mask::Bits(With(bits.bytes));
  }
  Mask operator()(const BlockSparseMask& sparse) const {
    return Mask::BlockSparse(With(sparse.layout), sparse.query_block,
                             sparse.key_block);
  }
  static TensorView With(const TensorView& pattern) {
    return pattern.rank() == 3 ? pattern.Unsqueezed(1) : pattern;
  }
};

Mask ForOneHead(const Mask& mask) {
  Mask out;
  for (const MaskTerm& term : mask.terms()) {
    out = out & std::visit(WithHeadAxis(), term);
  }
  return out;
}

}  // namespace

AttentionModuleResult SelfAttention::Forward(
    const TensorView& x, const AttentionModuleOptions& options) const {
  const Rows rows("SelfAttention", x, q_proj.in_features(), "d_model");
  const Sequences sequences = SequencesOf("SelfAttention", "x", x);
  const int64_t batch = sequences.batch, length = sequences.length;
  const Tensor q = q_proj.Forward(rows.view(), options.threads);
  const Tensor k = k_proj.Forward(rows.view(), options.threads);
  const Tensor v = v_proj.Forward(rows.view(), options.threads);
  AttentionProblem problem;
  problem.q = SplitHeads(q, batch, length, 1);
  problem.k = SplitHeads(k, batch, length, 1);
  problem.v = SplitHeads(v, batch, length, 1);
  problem.mask = ForOneHead(options.mask);
  problem.query_offset = options.query_offset;
  AttentionModuleResult result =
      AttendAndJoin("SelfAttention", problem, options,
                    out_proj ? out_proj->weight.view() : TensorView(),
                    sequences.batched, /*single_head=*/true);
  if (out_proj) {
    result.output = out_proj->Forward(result.output, options.threads);
  }
  return result;
}

}  // namespace regard::inline v0
