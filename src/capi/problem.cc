#include <algorithm>
#include <optional>
#include <string>

#include "capi/boundary.h"
#include "capi/handles.h"
#include "capi/tensor.h"

namespace {

using regard::AttentionProblem;
using regard::Guard;
using regard::Required;

regard::QueryOffset OffsetOf(int32_t kind, int64_t position) {
  switch (kind) {
    case REGARD_TOP_LEFT:
      return regard::QueryOffset::TopLeft();
    case REGARD_BOTTOM_RIGHT:
      return regard::QueryOffset::BottomRight();
    case REGARD_AT:
      return regard::QueryOffset::At(position);
    default:
      throw regard::Error(
          regard::ErrorKind::kArgument, "kind",
          std::to_string(kind) + " does not exist",
          "use REGARD_TOP_LEFT, REGARD_BOTTOM_RIGHT or REGARD_AT");
  }
}

// Sets one array of a problem; NULL: none.
regard_status SetArray(const char* function, regard_problem* problem,
                       regard::TensorView AttentionProblem::*member,
                       const regard_tensor* array, const char* name) {
  return Guard(function, [&] {
    Required(problem, "problem").value.*member = regard::ViewOf(array, name);
  });
}

}  // namespace

regard_status regard_problem_create(regard_problem** problem) {
  return Guard("regard_problem_create",
               [&] { regard::Create(problem, "problem"); });
}

void regard_problem_destroy(regard_problem* problem) { delete problem; }

regard_status regard_problem_set_qkv(regard_problem* problem,
                                     const regard_tensor* q,
                                     const regard_tensor* k,
                                     const regard_tensor* v) {
  return Guard("regard_problem_set_qkv", [&] {
    regard::AttentionProblem& value = Required(problem, "problem").value;
    const regard::TensorView new_q = regard::RequiredViewOf(q, "q");
    const regard::TensorView new_k = regard::RequiredViewOf(k, "k");
    const regard::TensorView new_v = regard::RequiredViewOf(v, "v");
    value.q = new_q;
    value.k = new_k;
    value.v = new_v;
  });
}

regard_status regard_problem_set_q(regard_problem* problem,
                                   const regard_tensor* q) {
  return Guard("regard_problem_set_q", [&] {
    Required(problem, "problem").value.q = regard::RequiredViewOf(q, "q");
  });
}

regard_status regard_problem_set_mask(regard_problem* problem,
                                      const regard_mask* mask) {
  return Guard("regard_problem_set_mask", [&] {
    Required(problem, "problem").value.mask =
        mask == nullptr ? regard::Mask() : regard::Mask(mask->value);
  });
}

regard_status regard_problem_set_query_offset(regard_problem* problem,
                                              int32_t kind, int64_t position) {
  return Guard("regard_problem_set_query_offset", [&] {
    Required(problem, "problem").value.query_offset = OffsetOf(kind, position);
  });
}

regard_status regard_problem_set_scale(regard_problem* problem, double scale) {
  return Guard("regard_problem_set_scale",
               [&] { Required(problem, "problem").value.scale = scale; });
}

regard_status regard_problem_set_softcap(regard_problem* problem,
                                         double softcap) {
  return Guard("regard_problem_set_softcap",
               [&] { Required(problem, "problem").value.softcap = softcap; });
}

regard_status regard_problem_set_bias(regard_problem* problem,
                                      const regard_tensor* bias) {
  return SetArray("regard_problem_set_bias", problem, &AttentionProblem::bias,
                  bias, "bias");
}

regard_status regard_problem_set_alibi_slopes(regard_problem* problem,
                                              const regard_tensor* slopes) {
  return SetArray("regard_problem_set_alibi_slopes", problem,
                  &AttentionProblem::alibi_slopes, slopes, "slopes");
}

regard_status regard_alibi_slopes(int64_t heads, double* slopes) {
  return Guard("regard_alibi_slopes", [&] {
    const regard::Tensor usual = regard::AlibiSlopes(heads);
    if (heads > 0) Required(slopes, "slopes");
    std::copy_n(usual.As<double>(), heads, slopes);
  });
}

regard_status regard_problem_set_sink_logit(regard_problem* problem,
                                            const regard_tensor* sink_logit) {
  return SetArray("regard_problem_set_sink_logit", problem,
                  &AttentionProblem::sink_logit, sink_logit, "sink_logit");
}

regard_status regard_problem_set_dropout(regard_problem* problem, double p,
                                         uint64_t seed, int64_t sequences,
                                         const int64_t* sequence_ids) {
  return Guard("regard_problem_set_dropout", [&] {
    regard::AttentionProblem& value = Required(problem, "problem").value;
    regard::Dropout dropout = {
        p, seed, regard::Copied(sequence_ids, sequences, "sequences")};
    value.dropout.reset();
    if (p != 0) value.dropout = std::move(dropout);
  });
}

regard_status regard_problem_set_query_starts(regard_problem* problem,
                                              const regard_tensor* starts) {
  return SetArray("regard_problem_set_query_starts", problem,
                  &AttentionProblem::query_starts, starts, "starts");
}

regard_status regard_problem_set_key_starts(regard_problem* problem,
                                            const regard_tensor* starts) {
  return SetArray("regard_problem_set_key_starts", problem,
                  &AttentionProblem::key_starts, starts, "starts");
}

regard_status regard_problem_set_key_lengths(regard_problem* problem,
                                             const regard_tensor* lengths) {
  return SetArray("regard_problem_set_key_lengths", problem,
                  &AttentionProblem::key_lengths, lengths, "lengths");
}

regard_status regard_problem_set_block_table(regard_problem* problem,
                                             const regard_tensor* table) {
  return SetArray("regard_problem_set_block_table", problem,
                  &AttentionProblem::block_table, table, "table");
}

regard_status regard_problem_set_scales(regard_problem* problem,
                                        const regard_tensor* k_scales,
                                        const regard_tensor* v_scales) {
  return Guard("regard_problem_set_scales", [&] {
    regard::AttentionProblem& value = Required(problem, "problem").value;
    const regard::TensorView k = regard::ViewOf(k_scales, "k_scales");
    const regard::TensorView v = regard::ViewOf(v_scales, "v_scales");
    value.k_scales = k;
    value.v_scales = v;
  });
}

regard_status regard_problem_set_ring(regard_problem* problem,
                                      int64_t first_keys, int64_t period,
                                      const regard_tensor* oldest) {
  return Guard("regard_problem_set_ring", [&] {
    std::optional<regard::KeyRing>& ring =
        Required(problem, "problem").value.ring;
    const regard::TensorView list = regard::ViewOf(oldest, "oldest");
    ring.reset();
    if (period != 0) ring = regard::KeyRing{first_keys, period, list};
  });
}
