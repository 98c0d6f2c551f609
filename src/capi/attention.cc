#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "capi/boundary.h"
#include "capi/handles.h"
#include "capi/tensor.h"

namespace {

using regard::Guard;
using regard::Required;

regard::AttentionOutputs OutputsOf(const regard_tensor* out,
                                   const regard_tensor* lse,
                                   const regard_tensor* weights) {
  return {regard::RequiredViewOf(out, "out"), regard::ViewOf(lse, "lse"),
          regard::ViewOf(weights, "weights")};
}

}  // namespace

regard_status regard_attend(const regard_problem* problem,
                            const regard_options* options,
                            const regard_tensor* out, const regard_tensor* lse,
                            const regard_tensor* weights) {
  return Guard("regard_attend", [&] {
    const regard::AttentionProblem& value = Required(problem, "problem").value;
    regard::AttendInto(value, OutputsOf(out, lse, weights),
                       regard::OptionsOf(options));
  });
}

regard_status regard_plan_create(const regard_problem* problem,
                                 const regard_options* options,
                                 regard_plan** plan) {
  return Guard("regard_plan_create", [&] {
    regard_plan*& result = Required(plan, "plan");
    regard::AttentionPlan value(Required(problem, "problem").value,
                                regard::OptionsOf(options));
    std::string kernel = value.kernel(), description = value.Describe();
    result = new regard_plan{std::move(value), std::move(kernel),
                             std::move(description)};
  });
}

void regard_plan_destroy(regard_plan* plan) { delete plan; }

regard_status regard_plan_run(regard_plan* plan, const regard_problem* problem,
                              const regard_tensor* out,
                              const regard_tensor* lse,
                              const regard_tensor* weights) {
  return Guard("regard_plan_run", [&] {
    Required(plan, "plan")
        .value.Run(Required(problem, "problem").value,
                   OutputsOf(out, lse, weights));
  });
}

const char* regard_plan_kernel(const regard_plan* plan) {
  return plan == nullptr ? "" : plan->kernel.c_str();
}

const char* regard_plan_instruction_set(const regard_plan* plan) {
  return plan == nullptr ? "" : plan->value.instruction_set().c_str();
}

const char* regard_plan_description(const regard_plan* plan) {
  return plan == nullptr ? "" : plan->description.c_str();
}

size_t regard_plan_scratch_bytes(const regard_plan* plan) {
  return plan == nullptr ? 0 : plan->value.scratch_bytes();
}

regard_status regard_for_each_weight_tile(const regard_problem* problem,
                                          const regard_options* options,
                                          regard_weight_callback callback,
                                          void* user) {
  return Guard("regard_for_each_weight_tile", [&] {
    Required(callback, "callback");
    const auto sink = [&](const regard::WeightTile& tile) {
      const regard_weight_tile c_tile = {
          tile.batch,     tile.head,    tile.query_begin, tile.query_end,
          tile.key_begin, tile.key_end, tile.weights,     tile.stride};
      if (callback(&c_tile, user) != 0) throw regard::StoppedByCallback();
    };
    regard::ForEachWeightTile(Required(problem, "problem").value,
                              regard::OptionsOf(options), std::cref(sink));
  });
}

regard_status regard_merge(const regard_partial* parts, size_t count,
                           const regard_tensor* out, const regard_tensor* lse,
                           int32_t threads) {
  return Guard("regard_merge", [&] {
    if (count > 0) Required(parts, "parts");
    std::vector<regard::PartialAttention> views;
    views.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      views.push_back({regard::ViewOf(&parts[i].out, {"parts", i, "out"}),
                       regard::ViewOf(&parts[i].lse, {"parts", i, "lse"})});
    }
    regard::MergeAttention(views, regard::RequiredViewOf(out, "out"),
                           regard::ViewOf(lse, "lse"), threads);
  });
}

regard_status regard_plan_count_tiles(const regard_plan* plan,
                                      const regard_problem* problem,
                                      regard_tile_counts* counts) {
  return Guard("regard_plan_count_tiles", [&] {
    regard_tile_counts& result = Required(counts, "counts");
    const regard::TileCounts found =
        Required(plan, "plan")
            .value.CountTiles(Required(problem, "problem").value);
    result = {found.empty, found.full, found.mixed};
  });
}
