// A tile that a mask hides is neither computed nor read: keys and values that
// no query sees lie on pages that can't be read, and no weights are handed over
// for tiles without a visible key.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/compare.h"
#include "tests/support/kernels.h"
#include "tests/support/plain_attention.h"

namespace regard::inline v0 {
namespace {

// An array [1, 1, keys, 16], or of twice as many columns of 16 bits, whose
// pages, of 64 rows each, can be locked.
class LockableRows {
 public:
  LockableRows(int64_t rows, DType dtype)
      : rows_(rows),
        dtype_(dtype),
        size_(kRowBytes / static_cast<int64_t>(ItemSize(dtype))) {
    memory_ = mmap(nullptr, Bytes(rows), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    Tensor values(DType::kF32, {rows, size_});
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      values.AsMutable<float>()[i] =
          static_cast<float>(i * 7919 % 101) / 64 - 0.75f;
    }
    const Tensor stored = Converted(values, dtype);
    std::memcpy(memory_, stored.view().data, stored.ByteSize());
  }
  LockableRows(const LockableRows&) = delete;
  ~LockableRows() { munmap(memory_, Bytes(rows_)); }

  TensorView view() const { return {memory_, dtype_, {1, 1, rows_, size_}}; }
  // Rows [begin, end), in whole pages.
  void Lock(int64_t begin, int64_t end, int rights = PROT_NONE) {
    ASSERT_EQ(Bytes(begin) % static_cast<size_t>(getpagesize()), 0u);
    ASSERT_EQ(mprotect(static_cast<char*>(memory_) + Bytes(begin),
                       Bytes(end - begin), rights),
              0);
  }

 private:
  static size_t Bytes(int64_t rows) {
    return static_cast<size_t>(rows * kRowBytes);
  }
  static constexpr int64_t kRowBytes = 64;
  int64_t rows_;
  DType dtype_;
  int64_t size_;
  void* memory_;
};

class HiddenTilesTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  static constexpr int64_t kKeys = 4096;

  HiddenTilesTest() {
    problem_.k = keys_.view();
    problem_.v = values_.view();
    SetQueries(100);
  }
  void SetQueries(int64_t count) {
    problem_.q = queries_.view().Slice(2, 0, count);
  }

  // The result while nothing but the keys of `seen` can be read is the one with
  // everything in reach; tiles are handed over for no other keys.
  void ExpectOnlyReads(const std::vector<std::pair<int64_t, int64_t>>& seen) {
    const AttentionOptions options = OptionsFor(GetParam());
    const AttentionResult open = Attend(problem_, options);
    for (LockableRows* rows : {&keys_, &values_}) {
      rows->Lock(0, kKeys);
      for (const auto& [begin, end] : seen) {
        rows->Lock(begin, end, PROT_READ);
      }
    }
    const AttentionResult result = Attend(problem_, options);  // or death
    EXPECT_TRUE(SameBits(result.out, open.out));
    EXPECT_TRUE(SameBits(result.lse, open.lse));
    EXPECT_TRUE(SameBits(result.weights, open.weights));
    int64_t tiles = 0;
    ForEachWeightTile(problem_, options, [&](const WeightTile& tile) {
      ++tiles;
      if (GetParam().kernel == "reference") return;  // whole rows
      bool visible = false;
      for (int64_t i = tile.query_begin; i < tile.query_end; ++i) {
        for (int64_t j = tile.key_begin; j < tile.key_end; ++j) {
          visible = visible || Visible(problem_, 0, 0, i, j);
        }
      }
      EXPECT_TRUE(visible) << "queries from " << tile.query_begin
                           << ", keys from " << tile.key_begin;
    });
    EXPECT_GT(tiles, 0);
    for (LockableRows* rows : {&keys_, &values_}) {
      rows->Lock(0, kKeys, PROT_READ | PROT_WRITE);
    }
  }

  const DType dtype_ = TypeFor(GetParam().kernel);
  LockableRows keys_{kKeys, dtype_}, values_{kKeys, dtype_},
      queries_{kKeys, dtype_};
  AttentionProblem problem_;
};

INSTANTIATE_TEST_SUITE_P(Kernels, HiddenTilesTest,
                         testing::ValuesIn(AllKernels(DType::kBF16)),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(HiddenTilesTest, Chunk) {
  problem_.mask = Mask::Chunk(640);
  problem_.query_offset = QueryOffset::At(1300);
  ExpectOnlyReads({{1280, 1920}});
  problem_.query_offset = QueryOffset::At(1850);
  ExpectOnlyReads({{1280, 2560}});
  problem_.mask = problem_.mask & Mask::Causal();
  problem_.query_offset = QueryOffset::At(3500);
  ExpectOnlyReads({{3200, 3648}});
}

TEST_P(HiddenTilesTest, Prefix) {
  problem_.mask = Mask::Prefix(576);
  problem_.query_offset = QueryOffset::At(0);
  ExpectOnlyReads({{0, 576}});
}

TEST_P(HiddenTilesTest, FirstKeysAndWindow) {
  problem_.mask = Mask::Window(577, 0, 64);
  problem_.query_offset = QueryOffset::At(3520);
  SetQueries(64);
  ExpectOnlyReads({{0, 64}, {2944, 3584}});
}

TEST_P(HiddenTilesTest, BlockSparse) {
  // Rows of 50 queries, columns of 512 keys.
  const uint8_t layout[] = {0, 1, 0, 0, 0, 0, 1, 0,  //
                            0, 1, 0, 1, 0, 0, 0, 0};
  problem_.mask =
      Mask::BlockSparse(TensorView(layout, DType::kU8, {2, 8}), 50, 512);
  ExpectOnlyReads({{512, 1024}, {1536, 2048}, {3072, 3584}});
  // With other terms: what is left of the intersection.
  problem_.mask = problem_.mask & Mask::Chunk(2048) & Mask::Lengths({}, {1728});
  problem_.query_offset = QueryOffset::TopLeft();
  ExpectOnlyReads({{512, 1024}, {1536, 1728}});
}

// Layout blocks of 64 keys that no query sees, between others that some see.
TEST_P(HiddenTilesTest, SmallBlocks) {
  std::vector<uint8_t> layout(2 * 64);
  for (const size_t column : {0u, 3u, 7u, 20u, 21u, 63u}) layout[column] = 1;
  for (const size_t column : {3u, 5u, 22u}) layout[64 + column] = 1;
  problem_.mask =
      Mask::BlockSparse(TensorView(layout.data(), DType::kU8, {2, 64}), 50, 64);
  ExpectOnlyReads({{0, 64},
                   {192, 256},
                   {320, 384},
                   {448, 512},
                   {1280, 1472},
                   {4032, 4096}});
}

TEST_P(HiddenTilesTest, Documents) {
  std::vector<int64_t> query_ids(100, 3), key_ids(kKeys);
  for (int64_t j = 0; j < kKeys; ++j) {
    key_ids[static_cast<size_t>(j)] = j / 640;
  }
  problem_.mask = Mask::Documents(TensorView(query_ids.data(), {100}),
                                  TensorView(key_ids.data(), {kKeys}));
  ExpectOnlyReads({{1920, 2560}});
}

}  // namespace
}  // namespace regard::inline v0
