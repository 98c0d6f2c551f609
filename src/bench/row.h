// One line of the benchmark's table: the work, what it is held against, and
// what it has to reach.
#ifndef REGARD_SRC_BENCH_ROW_H_
#define REGARD_SRC_BENCH_ROW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "regard/tensor.h"

namespace regard::inline v0 {

// A figure of a row. The last four are ratios to another work.
enum class Figure {
  kShare,   // of the peak; more is better
  kTime,    // this work's over the other's; less is better
  kOpTime,  // the same, each per useful operation; less is better
  kSpeed,   // the other's time over this one's; more is better
  kMemory,  // growth over the other's; less is better
};
// "share", "time", "time per operation", "speed", "memory".
const char* Name(Figure figure);
// "time/op" for the long one.
const char* ShortName(Figure figure);

// The other work of a ratio: the row's own, but for what is set here.
struct Versus {
  Figure figure = Figure::kTime;
  const char* work = nullptr;
  std::optional<DType> dtype = {};
  int64_t d = 0, lq = 0, lk = 0;
  int threads = 0;
};

struct BenchRow {
  std::string work = "forward";  // a name of Works()
  DType dtype = DType::kF32;
  int64_t d = 64, lq = 2048, lk = 2048, hq = 8, hkv = 8;
  int threads = 1;
  // What has to be reached: the ratio where there is one, else the share.
  std::optional<double> bar = {};
  std::optional<Versus> versus = {};
  std::string instruction_set = {};  // "": the widest usable one

  // What the bar is about, and whether `value` is good enough (false without a
  // bar).
  Figure Judged() const { return versus ? versus->figure : Figure::kShare; }
  bool MoreIsBetter() const;
  bool IsMetBy(double value) const;
  // The row that `versus` means.
  BenchRow Other() const;
  // What is different there: "forward", "f32", "D 64", "1 thread".
  std::string VersusText() const;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_BENCH_ROW_H_
