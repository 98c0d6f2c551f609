// The work of one row, ready to run.
#ifndef REGARD_SRC_BENCH_WORK_H_
#define REGARD_SRC_BENCH_WORK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/row.h"
#include "bench/stream_read.h"
#include "bench/work_list.h"
#include "regard/attention.h"

namespace regard::inline v0 {

// Inputs are filled with noise, outputs are touched; the plan is made by Plan.
class Work {
 public:
  explicit Work(const BenchRow& row);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Chooses the kernel and takes its memory.
  void Plan();
  void Run() { plan_->Run(parts_.problem, outputs_); }

  // Useful ones: 2 (D + Dv) for each visible pair.
  double operations() const { return operations_; }
  // Keys and values, each byte once.
  const std::vector<ByteSpan>& streams() const { return streams_; }
  double stream_bytes() const;
  int64_t array_bytes() const;  // of q, k, v and out
  const AttentionPlan& plan() const { return *plan_; }

 private:
  const BenchRow row_;
  const double operations_;
  WorkParts parts_;
  Tensor q_, k_, v_, out_;
  AttentionOutputs outputs_;
  std::vector<ByteSpan> streams_;
  std::unique_ptr<AttentionPlan> plan_;
};

// The same without preparing anything.
double UsefulOperations(const BenchRow& row);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_WORK_H_
