// From the options of `regard attend` to an AttentionProblem.
#ifndef REGARD_SRC_CLI_ATTEND_PROBLEM_H_
#define REGARD_SRC_CLI_ATTEND_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "regard/attention.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

struct AttendInputs {
  std::optional<std::string> q, k, v, mask, bias, causal, window;
  std::optional<int64_t> offset;
  std::optional<double> scale, softcap;
};
void AddAttendInputs(CLI::App& app, AttendInputs& inputs);

// Arrays as they were read, and the problem that looks at them.
class AttendProblem {
 public:
  // Reads the files. Error (kUsage) for options that contradict each other,
  // (kFile), (kFormat), (kUnsupported) for files.
  AttendProblem(const AttendInputs& inputs, Console& console);

  const AttentionProblem& problem() const { return problem_; }
  // Rank of the arrays as given: 2, 3 or 4.
  int rank() const { return rank_; }
  // A shape of the problem without the axes that were not given.
  Dims Given(const Dims& shape) const;
  // "causal top-left, window 4,none, mask", or "full".
  const std::string& mask_text() const { return mask_text_; }

 private:
  void ReadArrays(const AttendInputs& inputs, Console& console);
  void AddMasks(const AttendInputs& inputs);

  Tensor q_, k_, v_, mask_, bias_;
  int rank_ = 4;
  std::string mask_text_;
  AttentionProblem problem_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_ATTEND_PROBLEM_H_
