// Which rows are measured: one list.
#ifndef REGARD_SRC_BENCH_TABLE_H_
#define REGARD_SRC_BENCH_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/row.h"

namespace regard::inline v0 {

// What is chosen from the table. Without `all` the rows that have a bar, or,
// where none of them is left, the rest.
struct TableChoice {
  bool all = false;
  std::vector<std::string> works = {};  // none: all
  std::optional<DType> dtype = {};
  std::optional<int64_t> d = {}, length = {};  // head size, key length
  // Takes the place of the table's own: the widest instruction set, one thread
  // and two.
  std::string instruction_set = {};
  int threads = 0;
  // Every length 128 times smaller, and no bars: to see what comes out.
  bool quick = false;
};

// Rows that need more threads than this process may use are left out.
std::vector<BenchRow> ChooseRows(const TableChoice& choice);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_TABLE_H_
