// What `regard attend` says when it writes no file.
#ifndef REGARD_SRC_CLI_ATTEND_REPORT_H_
#define REGARD_SRC_CLI_ATTEND_REPORT_H_

#include "cli/attend/problem.h"
#include "cli/command.h"
#include "regard/attention.h"

namespace regard::inline v0 {

// Shapes, ranges, and how it was computed. `result.lse` must be given.
void PrintSummary(const AttendProblem& attend, const AttentionPlan& plan,
                  const AttentionResult& result, Context& context);

// `tiles`: what the mask leaves.
void PrintPlan(const AttentionPlan& plan, const TileCounts& tiles,
               Context& context);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_ATTEND_REPORT_H_
