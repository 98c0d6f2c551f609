#include "bench/work_list.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t kWindow = 256;
// Typical of block-sparse layouts; one of four is visible.
constexpr int64_t kSparseBlock = 64, kSparseStep = 4;
// One key of so many is hidden in a boolean mask: mixed tiles everywhere.
constexpr int64_t kHiddenStep = 8;
constexpr int64_t kDocuments = 8;

double Product(int64_t a, int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

// A number below `count` that looks like chance.
int64_t Scattered(int64_t i, int64_t j, int64_t count) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u +
               static_cast<uint64_t>(j) * 0xC2B2AE3D27D4EB4Fu;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return static_cast<int64_t>((x >> 33) % static_cast<uint64_t>(count));
}

double AllPairs(const BenchRow& row) { return Product(row.lq, row.lk); }

// The last query stands at the last key.
double CausalPairs(const BenchRow& row) {
  return Product(row.lq, row.lk - row.lq) + Product(row.lq, row.lq + 1) / 2;
}

double WindowPairs(const BenchRow& row) {
  double pairs = 0;
  for (int64_t i = 0; i < row.lq; ++i) {
    pairs += static_cast<double>(std::min(i + row.lk - row.lq + 1, kWindow));
  }
  return pairs;
}

double ScatteredPairs(const BenchRow& row) {
  return Product(row.lq, row.lk - row.lk / kHiddenStep);
}

double ChunkPairs(const BenchRow& row) {
  double pairs = 0;
  for (int64_t i = 0; i < row.lq; ++i) {
    pairs += static_cast<double>(i % kWindow + 1);
  }
  return pairs;
}

int64_t DocumentOf(int64_t position, int64_t length) {
  return position * kDocuments / std::max<int64_t>(length, 1);
}

double DocumentPairs(const BenchRow& row) {
  double keys[kDocuments] = {};
  for (int64_t j = 0; j < row.lk; ++j) ++keys[DocumentOf(j, row.lk)];
  double pairs = 0;
  for (int64_t i = 0; i < row.lq; ++i) pairs += keys[DocumentOf(i, row.lq)];
  return pairs;
}

int64_t SparseBlocks(int64_t length) {
  return (length + kSparseBlock - 1) / kSparseBlock;
}

bool SparseSees(int64_t query_block, int64_t key_block) {
  return key_block % kSparseStep ==
         Scattered(query_block, key_block / kSparseStep, kSparseStep);
}

double SparsePairs(const BenchRow& row) {
  const auto size = [](int64_t length, int64_t block) {
    return std::min(kSparseBlock, length - block * kSparseBlock);
  };
  double pairs = 0;
  for (int64_t i = 0; i < SparseBlocks(row.lq); ++i) {
    for (int64_t j = 0; j < SparseBlocks(row.lk); ++j) {
      if (SparseSees(i, j)) pairs += Product(size(row.lq, i), size(row.lk, j));
    }
  }
  return pairs;
}

Tensor& Add(WorkParts& parts, DType dtype, const Dims& shape) {
  return parts.arrays.emplace_back(dtype, shape);
}

uint8_t* Bytes(Tensor& tensor) {
  return static_cast<uint8_t*>(tensor.mutable_view().mutable_data());
}

void AddNothing(const BenchRow&, WorkParts&) {}

void AddCausal(const BenchRow&, WorkParts& parts) {
  parts.problem.mask = Mask::Causal();
  parts.problem.query_offset = QueryOffset::BottomRight();
}

void AddWindow(const BenchRow& row, WorkParts& parts) {
  AddCausal(row, parts);
  parts.problem.mask =
      std::move(parts.problem.mask) & Mask::Window(kWindow, std::nullopt);
}

void AddChunk(const BenchRow&, WorkParts& parts) {
  parts.problem.mask = Mask::Causal() & Mask::Chunk(kWindow);
}

// Hides one key of each eight, now this, now that.
void AddBoolean(const BenchRow& row, WorkParts& parts) {
  uint8_t* sees = Bytes(Add(parts, DType::kBool, {row.lq, row.lk}));
  std::fill_n(sees, row.lq * row.lk, uint8_t{1});
  for (int64_t i = 0; i < row.lq; ++i) {
    for (int64_t group = 0; group < row.lk / kHiddenStep; ++group) {
      sees[i * row.lk + group * kHiddenStep +
           Scattered(i, group, kHiddenStep)] = 0;
    }
  }
  parts.problem.mask = Mask::Boolean(parts.arrays.back());
}

void AddBits(const BenchRow& row, WorkParts& parts) {
  const int64_t row_bytes = (row.lk + 7) / 8;
  uint8_t* bits = Bytes(Add(parts, DType::kU8, {row.lq, row_bytes}));
  std::fill_n(bits, row.lq * row_bytes, uint8_t{0xFF});
  for (int64_t i = 0; i < row.lq; ++i) {
    for (int64_t group = 0; group < row.lk / kHiddenStep; ++group) {
      bits[i * row_bytes + group] =
          static_cast<uint8_t>(~(1 << Scattered(i, group, kHiddenStep)));
    }
  }
  parts.problem.mask = Mask::Bits(parts.arrays.back());
}

void AddDocuments(const BenchRow& row, WorkParts& parts) {
  for (const int64_t length : {row.lq, row.lk}) {
    int64_t* ids = Add(parts, DType::kI64, {length}).AsMutable<int64_t>();
    for (int64_t i = 0; i < length; ++i) ids[i] = DocumentOf(i, length);
  }
  parts.problem.mask = Mask::Documents(parts.arrays[0], parts.arrays[1]);
}

void AddBlocks(const BenchRow& row, WorkParts& parts) {
  const int64_t rows = SparseBlocks(row.lq), columns = SparseBlocks(row.lk);
  uint8_t* layout = Bytes(Add(parts, DType::kBool, {rows, columns}));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      layout[i * columns + j] = SparseSees(i, j) ? 1 : 0;
    }
  }
  parts.problem.mask =
      Mask::BlockSparse(parts.arrays.back(), kSparseBlock, kSparseBlock);
}

void AddBias(const BenchRow& row, WorkParts& parts) {
  constexpr int64_t kValues = 1000;
  float* bias = Add(parts, DType::kF32, {row.lq, row.lk}).AsMutable<float>();
  for (int64_t i = 0; i < row.lq * row.lk; ++i) {
    bias[i] = static_cast<float>(Scattered(i, 0, kValues)) / kValues;
  }
  parts.problem.bias = parts.arrays.back();
}

void AddAlibi(const BenchRow& row, WorkParts& parts) {
  AddCausal(row, parts);
  parts.arrays.push_back(AlibiSlopes(row.hq));
  parts.problem.alibi_slopes = parts.arrays.back();
}

void AddSoftcap(const BenchRow&, WorkParts& parts) {
  constexpr double kCap = 30;  // as the models that have one, or nearly
  parts.problem.softcap = kCap;
}

// A token that is decoded sees all keys; of several, each sees those before it.
void AddDecode(const BenchRow& row, WorkParts& parts) {
  if (row.lq > 1) AddCausal(row, parts);
}

// A new kind of work is one line here, and rows in table.cc.
constexpr WorkKind kWorks[] = {
    {"forward", "full attention", Peak::kFma, AllPairs, AddNothing},
    {"causal", "causal attention", Peak::kFma, CausalPairs, AddCausal},
    {"window", "causal, the 256 nearest keys", Peak::kFma, WindowPairs,
     AddWindow},
    {"mask", "a boolean mask of Lq x L", Peak::kFma, ScatteredPairs,
     AddBoolean},
    {"bits", "the same mask, a bit a key", Peak::kFma, ScatteredPairs, AddBits},
    {"bias", "an additive bias of Lq x L", Peak::kFma, AllPairs, AddBias},
    {"chunk", "causal within chunks of 256", Peak::kFma, ChunkPairs, AddChunk},
    {"documents", "8 documents side by side", Peak::kFma, DocumentPairs,
     AddDocuments},
    {"blocks", "block-sparse, one block of four", Peak::kFma, SparsePairs,
     AddBlocks},
    {"alibi", "causal with ALiBi", Peak::kFma, CausalPairs, AddAlibi},
    {"softcap", "scores capped by tanh", Peak::kFma, AllPairs, AddSoftcap},
    {"decode", "few queries, at the last keys", Peak::kRead, CausalPairs,
     AddDecode},
    {"memory", "full attention, once: memory beyond inputs and outputs",
     Peak::kFma, AllPairs, AddNothing, /*measures_memory=*/true},
    {"memory-causal", "the same, causal", Peak::kFma, CausalPairs, AddCausal,
     /*measures_memory=*/true},
    {"memory-window", "the same, the 256 nearest keys", Peak::kFma, WindowPairs,
     AddWindow, /*measures_memory=*/true},
};

}  // namespace

const char* Name(Peak peak) { return peak == Peak::kFma ? "fma" : "read"; }

std::span<const WorkKind> Works() { return kWorks; }

std::vector<std::string> WorkNames() {
  std::vector<std::string> names;
  for (const WorkKind& kind : kWorks) names.emplace_back(kind.name);
  return names;
}

const WorkKind& FindWork(const std::string& name) {
  for (const WorkKind& kind : kWorks) {
    if (name == kind.name) return kind;
  }
  throw Error(ErrorKind::kArgument, "work " + name, "unknown",
              "use one of " + Join(WorkNames()));
}

}  // namespace regard::inline v0
