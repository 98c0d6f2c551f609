#include "bench/work_list.h"

#include <algorithm>
#include <numeric>
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

// Sequences side by side, from a few tokens to about 16 times as many.
constexpr int64_t kSequences = 24;

std::vector<int64_t> SequenceStarts(int64_t total) {
  double weights[kSequences], sum = 0;
  for (int64_t s = 0; s < kSequences; ++s) {
    weights[s] = static_cast<double>(1 + Scattered(s, 1, 16));
    sum += weights[s];
  }
  std::vector<int64_t> starts = {0};
  double before = 0;
  for (const double weight : weights) {
    before += weight;
    starts.push_back(
        static_cast<int64_t>(static_cast<double>(total) * before / sum));
  }
  starts.back() = total;
  return starts;
}

double PackedPairs(const BenchRow& row) {
  const std::vector<int64_t> starts = SequenceStarts(row.lq);
  double pairs = 0;
  for (size_t s = 0; s + 1 < starts.size(); ++s) {
    const int64_t length = starts[s + 1] - starts[s];
    pairs += Product(length, length + 1) / 2;
  }
  return pairs;
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

void AddDropout(const BenchRow&, WorkParts& parts) {
  constexpr double kDropped = 0.1;  // Vaswani et al. 2017, section 5.4
  parts.problem.dropout = Dropout{.p = kDropped, .seed = 1, .sequence_ids = {}};
}

// A token that is decoded sees all keys; of several, each sees those before it.
void AddDecode(const BenchRow& row, WorkParts& parts) {
  if (row.lq > 1) AddCausal(row, parts);
}

// Causal sequences, packed: as many queries as keys.
void AddPacked(const BenchRow& row, WorkParts& parts) {
  const std::vector<int64_t> starts = SequenceStarts(row.lq);
  const int64_t count = static_cast<int64_t>(starts.size());
  std::copy(starts.begin(), starts.end(),
            Add(parts, DType::kI64, {count}).AsMutable<int64_t>());
  parts.problem.mask = Mask::Causal();
  parts.problem.query_starts = parts.problem.key_starts = parts.arrays.back();
}

// As AddDecode, with keys in scattered pages.
template <int64_t rows>
void AddPages(const BenchRow& row, WorkParts& parts) {
  AddDecode(row, parts);
  const int64_t pages = (row.lk + rows - 1) / rows;
  int64_t* table = Add(parts, DType::kI64, {1, pages}).AsMutable<int64_t>();
  std::iota(table, table + pages, 0);
  for (int64_t i = pages - 1; i > 0; --i) {
    std::swap(table[i], table[Scattered(i, 2, i + 1)]);
  }
  *Add(parts, DType::kI64, {1}).AsMutable<int64_t>() = row.lk;
  parts.problem.block_table = parts.arrays[0];
  parts.problem.key_lengths = parts.arrays[1];
  parts.page_rows = rows;
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
    {"dropout", "a tenth of the weights set to 0", Peak::kFma, AllPairs,
     AddDropout},
    {"decode", "few queries, at the last keys", Peak::kRead, CausalPairs,
     AddDecode},
    {"packed", "24 causal sequences in one call", Peak::kFma, PackedPairs,
     AddPacked},
    {"pages16", "decode, keys in pages of 16", Peak::kRead, CausalPairs,
     AddPages<16>},
    {"pages64", "decode, keys in pages of 64", Peak::kRead, CausalPairs,
     AddPages<64>},
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

Dims KeyShape(const BenchRow& row, const WorkParts& parts) {
  const TensorView& table = parts.problem.block_table;
  if (!table.given()) return {1, row.hkv, row.lk, row.d};
  return {row.hkv, table.shape[1], parts.page_rows, row.d};
}

TensorView KeyView(const Tensor& keys, const WorkParts& parts) {
  const bool paged = parts.problem.block_table.given();
  return paged ? keys.view().Transposed(0, 1) : keys.view();
}

}  // namespace regard::inline v0
