// Every user error of an attention call, found once, before anything is
// written.
#ifndef REGARD_SRC_ATTENTION_CHECK_H_
#define REGARD_SRC_ATTENTION_CHECK_H_

#include <string>

#include "attention/problem.h"

namespace regard::inline v0 {

// Error (kArgument, kUnsupported, kSize) whose subject is "function: argument".
// The result refers to `problem`.
Problem Check(const AttentionProblem& problem, const std::string& function);

// Shapes, types, and that no output shares memory with an input, another output
// or itself.
Outputs CheckOutputs(const AttentionProblem& inputs, const Problem& problem,
                     const AttentionOutputs& outputs,
                     const std::string& function);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_CHECK_H_
