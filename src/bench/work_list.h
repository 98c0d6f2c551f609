// The kinds of work that can be measured.
#ifndef REGARD_SRC_BENCH_WORK_LIST_H_
#define REGARD_SRC_BENCH_WORK_LIST_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/row.h"
#include "regard/attention.h"

namespace regard::inline v0 {

// What limits a work, and its share is of.
enum class Peak {
  kFma,   // multiply-adds per second
  kRead,  // bytes of keys and values per second
};
// "fma", "read".
const char* Name(Peak peak);

// A problem without its q, k and v, and the arrays that it looks into.
struct WorkParts {
  AttentionProblem problem;
  std::vector<Tensor> arrays;
  int64_t page_rows = 0;  // of pages that a block table leads to
};

// Of the memory of k and v, [1, Hkv, L, D] or, for pages, as KvCache has it,
// [Hkv, pages, page rows, D]; and what the problem takes.
Dims KeyShape(const BenchRow& row, const WorkParts& parts);
TensorView KeyView(const Tensor& keys, const WorkParts& parts);

struct WorkKind {
  const char* name;
  const char* summary;  // one line, for help
  Peak peak;
  // Pairs of a query and a key that it sees, of one query head.
  double (*pairs)(const BenchRow& row);
  // Adds mask, bias and the like.
  void (*add)(const BenchRow& row, WorkParts& parts);
  // The memory that it takes is measured, at two lengths, and it runs once.
  bool measures_memory = false;
};

std::span<const WorkKind> Works();
std::vector<std::string> WorkNames();
// Error (kArgument) for an unknown name.
const WorkKind& FindWork(const std::string& name);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_WORK_LIST_H_
