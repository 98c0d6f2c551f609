#include "bench/table.h"

#include <algorithm>

#include "base/parallel_for.h"
#include "bench/work_list.h"
#include "regard/attention.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t k2K = 2048, k16K = 16384, k128K = 131072;

// What the number of threads of a line becomes.
enum Threads {
  kOneAndTwo = 0,  // a row each
  kTwo = 2,
  kAllCores = -1,
  kMoreThanTwo = -2,  // all cores, unless they are two
};

struct Line {
  BenchRow row = {};
  int threads = kOneAndTwo;
  // The bar with more than one thread, where it is another.
  double bar_of_several = 0;
};

Line Square(const char* work, int64_t d, int64_t length, double bar,
            double bar_of_several) {
  return {.row = {.work = work, .d = d, .lq = length, .lk = length, .bar = bar},
          .bar_of_several = bar_of_several};
}

// One thread, against another work.
Line Ratio(const BenchRow& row, double bar, const Versus& versus,
           int threads = 1) {
  Line line{.row = row, .threads = threads};
  line.row.bar = bar;
  line.row.versus = versus;
  return line;
}

// Sixteenfold keys, so that what grows faster than the length is seen.
Line Memory(const char* work) {
  return Ratio({.work = work, .lq = k128K, .lk = k128K, .hq = 1, .hkv = 1}, 4.4,
               {.figure = Figure::kMemory, .lq = k128K / 4, .lk = k128K / 4},
               kAllCores);
}

Line Decode(int64_t hq, int64_t lq, int64_t lk) {
  return {
      .row = {
          .work = "decode", .d = 128, .lq = lq, .lk = lk, .hq = hq, .hkv = 8}};
}

// Rows with a bar: a new one is one line here.
std::vector<Line> LinesWithBars() {
  Line decode = Decode(32, 1, k16K);
  decode.row.bar = 0.80;
  const Versus unmasked = {.work = "forward"};
  const Versus faster_than_f32 = {.figure = Figure::kSpeed,
                                  .dtype = DType::kF32};
  return {
      Square("forward", 64, k2K, 0.85, 0.83),
      Square("forward", 128, k2K, 0.88, 0.86),
      Square("forward", 64, k16K, 0.85, 0.83),
      Square("forward", 128, k16K, 0.88, 0.86),
      Square("causal", 64, k2K, 0.80, 0.78),
      Square("causal", 128, k2K, 0.83, 0.81),
      Square("causal", 64, k16K, 0.83, 0.81),
      Square("causal", 128, k16K, 0.86, 0.84),
      Square("window", 64, k16K, 0.55, 0.55),
      decode,
      Ratio({.work = "mask"}, 1.25, unmasked, kOneAndTwo),
      Ratio({.work = "bias"}, 1.25, unmasked, kOneAndTwo),
      Ratio({.dtype = DType::kBF16}, 1.3, faster_than_f32, kOneAndTwo),
      Ratio({.dtype = DType::kBF16, .d = 128}, 1.3, faster_than_f32,
            kOneAndTwo),
      Ratio({.hq = 1, .hkv = 1}, 1.8, {.figure = Figure::kSpeed, .threads = 1},
            kTwo),
      Ratio({.work = "causal", .hq = 1, .hkv = 1}, 1.8,
            {.figure = Figure::kSpeed, .threads = 1}, kTwo),
      Ratio({.d = 72}, 1.12, {.figure = Figure::kOpTime, .d = 64}),
      Ratio({.d = 80}, 1.12, {.figure = Figure::kOpTime, .d = 64}),
      Ratio({.lq = k2K - 1, .lk = k2K - 1}, 1.12,
            {.figure = Figure::kOpTime, .lq = k2K, .lk = k2K}),
      Ratio({.lq = 32}, 1.12, {.figure = Figure::kOpTime, .lq = k2K}),
      Memory("memory"),
  };
}

void AddOverShapes(std::vector<Line>& lines) {
  for (const char* work : {"forward", "causal"}) {
    for (const int64_t d : {32, 80, 96, 256}) {
      lines.push_back({.row = {.work = work, .d = d}});
    }
    for (const int64_t length : {1, 8, 16, 64, 128, 256, 512, 1024, 4096}) {
      lines.push_back({.row = {.work = work, .lq = length, .lk = length}});
    }
    for (const int64_t heads : {1, 2, 32}) {
      lines.push_back({.row = {.work = work, .hq = heads, .hkv = heads}});
    }
    for (const int64_t kv_heads : {1, 8}) {
      lines.push_back({.row = {.work = work, .hq = 32, .hkv = kv_heads}});
    }
    lines.push_back({.row = {.work = work}, .threads = kMoreThanTwo});
  }
}

void AddOverTypes(std::vector<Line>& lines) {
  for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16}) {
    for (const char* work : {"forward", "causal"}) {
      // Full attention in bf16 has a bar.
      if (dtype == DType::kBF16 && work == std::string("forward")) continue;
      lines.push_back({.row = {.work = work, .dtype = dtype}});
    }
    Line decode = Decode(32, 1, k16K);
    decode.row.dtype = dtype;
    lines.push_back(decode);
  }
}

void AddOverMasks(std::vector<Line>& lines) {
  for (const char* work : {"window", "bits", "chunk", "documents", "blocks",
                           "alibi", "softcap", "dropout"}) {
    lines.push_back({.row = {.work = work}});
  }
  lines.push_back({.row = {.work = "packed", .lq = 2 * k2K, .lk = 2 * k2K}});
  lines.push_back(Memory("memory-causal"));
  lines.push_back(Memory("memory-window"));
}

void AddOverDecoding(std::vector<Line>& lines) {
  for (const int64_t keys : {128, 1024, 4096}) {
    lines.push_back(Decode(32, 1, keys));
  }
  for (const int64_t heads : {8, 64}) {
    lines.push_back(Decode(heads, 1, k16K));
  }
  for (const int64_t queries : {2, 4, 8, 9, 32}) {
    lines.push_back(Decode(32, queries, k16K));
  }
  for (const char* work : {"pages16", "pages64"}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      Line line = Decode(32, 1, k16K);
      line.row.work = work;
      line.row.dtype = dtype;
      line.row.versus = Versus{.figure = Figure::kTime, .work = "decode"};
      lines.push_back(line);
    }
  }
}

// What has a dot product of bf16, and is AVX3 for everything else.
constexpr char kBf16Set[] = "AVX3_BF16";

// The narrowest set has no vectors, and the reference kernel serves: short
// lengths.
void AddOverInstructionSets(std::vector<Line>& lines) {
  const std::vector<std::string> usable = UsableInstructionSets();
  for (size_t i = 1; i < usable.size(); ++i) {
    BenchRow row = {.instruction_set = usable[i]};
    if (usable[i - 1] == kBf16Set) row.dtype = DType::kBF16;
    row.lq = row.lk = i + 1 < usable.size() ? k2K : k2K / 16;
    for (const char* work : {"forward", "causal"}) {
      row.work = work;
      lines.push_back({.row = row});
    }
    Line decode = Decode(32, 1, row.lk);
    decode.row.dtype = row.dtype;
    decode.row.instruction_set = row.instruction_set;
    lines.push_back(decode);
  }
}

std::vector<Line> LinesWithoutBars() {
  std::vector<Line> lines;
  AddOverShapes(lines);
  AddOverTypes(lines);
  AddOverMasks(lines);
  AddOverDecoding(lines);
  AddOverInstructionSets(lines);
  return lines;
}

std::vector<int> ThreadsOf(const Line& line, int asked) {
  const int cores = ResolveThreads(0);
  const bool compares = line.row.versus && line.row.versus->threads > 0;
  if (asked > 0) {
    if (line.threads == kMoreThanTwo) return {};  // as other rows then
    if (compares && asked <= line.row.versus->threads) return {};
    return {asked};
  }
  if (line.threads == kAllCores) return {cores};
  if (line.threads == kMoreThanTwo) {
    return cores > 2 ? std::vector<int>{cores} : std::vector<int>{};
  }
  std::vector<int> threads = {line.threads};
  if (line.threads == kOneAndTwo) threads = {1, 2};
  std::erase_if(threads, [&](int count) { return count > cores; });
  return threads;
}

// The bar for bf16 is for processors that have its dot product.
bool BarIsMeant(const BenchRow& row) {
  if (row.dtype != DType::kBF16) return true;
  return (row.instruction_set.empty() ? UsableInstructionSets().front()
                                      : row.instruction_set) == kBf16Set;
}

void Shrink(BenchRow& row) {
  constexpr int64_t kTimes = 128;
  for (int64_t* length : {&row.lq, &row.lk}) {
    *length = std::max<int64_t>(1, *length / kTimes);
  }
  row.bar.reset();
  if (!row.versus) return;
  for (int64_t* length : {&row.versus->lq, &row.versus->lk}) {
    if (*length > 0) *length = std::max<int64_t>(1, *length / kTimes);
  }
}

bool Chosen(const BenchRow& row, const TableChoice& choice) {
  const auto& works = choice.works;
  return (works.empty() ||
          std::find(works.begin(), works.end(), row.work) != works.end()) &&
         (!choice.dtype || row.dtype == *choice.dtype) &&
         (!choice.d || row.d == *choice.d) &&
         (!choice.length || row.lk == *choice.length);
}

void AddRows(const std::vector<Line>& lines, const TableChoice& choice,
             std::vector<BenchRow>& rows) {
  for (const Line& line : lines) {
    BenchRow row = line.row;
    if (!Chosen(row, choice)) continue;
    if (!choice.instruction_set.empty()) {
      // The table's own rows for a set would come a second time.
      if (!row.instruction_set.empty()) continue;
      row.instruction_set = choice.instruction_set;
    }
    if (!BarIsMeant(row)) row.bar.reset();
    if (choice.quick) Shrink(row);
    for (const int threads : ThreadsOf(line, choice.threads)) {
      row.threads = threads;
      if (row.bar && threads > 1 && line.bar_of_several > 0) {
        row.bar = line.bar_of_several;
      }
      rows.push_back(row);
    }
  }
}

}  // namespace

std::vector<BenchRow> ChooseRows(const TableChoice& choice) {
  std::vector<BenchRow> rows;
  AddRows(LinesWithBars(), choice, rows);
  if (choice.all || rows.empty()) AddRows(LinesWithoutBars(), choice, rows);
  return rows;
}

}  // namespace regard::inline v0
