// Random operations on caches of every kind against lists of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "regard/error.h"
#include "regard/kv_cache.h"
#include "tests/support/compare.h"
#include "tests/support/random.h"

namespace regard::inline v0 {
namespace {

struct Model {
  // Of one sequence: row j of k and v, and who was written last to each slot.
  struct Rows {
    std::vector<std::vector<float>> k, v;
    std::vector<int64_t> slots;
  };
  int64_t first_keys = 0, period = 0, window = 0;  // period 0: no ring
  std::vector<Rows> sequences;

  int64_t SlotOf(int64_t key) const {
    return key < first_keys ? key : first_keys + (key - first_keys) % period;
  }
  bool Holds(const Rows& rows, int64_t key) const {
    return period == 0 || rows.slots[static_cast<size_t>(SlotOf(key))] == key;
  }
  bool CanTrim(const Rows& rows, int64_t length) const {
    for (int64_t key = 0; period > 0 && key < length; ++key) {
      const bool needed = key < first_keys || key > length - window;
      if (needed && !Holds(rows, key)) return false;
    }
    return true;
  }
  void Append(int64_t s, const TensorView& k, const TensorView& v,
              int64_t row) {
    Rows& rows = sequences[static_cast<size_t>(s)];
    const int64_t key = static_cast<int64_t>(rows.k.size());
    const auto copy = [row](const TensorView& from) {
      std::vector<float> values;
      for (int64_t h = 0; h < from.shape[1]; ++h) {
        for (int64_t d = 0; d < from.shape[3]; ++d) {
          values.push_back(
              from.As<float>()[h * from.strides[1] + row * from.strides[2] +
                               d * from.strides[3]]);
        }
      }
      return values;
    };
    rows.k.push_back(copy(k));
    rows.v.push_back(copy(v));
    if (period > 0) rows.slots[static_cast<size_t>(SlotOf(key))] = key;
  }
};

// `rows` of a model as an array [1, H, n, D].
Tensor ArrayOf(const std::vector<std::vector<float>>& rows, int64_t heads,
               int64_t size) {
  const int64_t count = static_cast<int64_t>(rows.size());
  Tensor array(DType::kF32, {1, heads, count, size});
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(rows[static_cast<size_t>(i)].data() + h * size, size,
                  array.AsMutable<float>() + (h * count + i) * size);
    }
  }
  return array;
}

class KvCacheModelTest : public testing::TestWithParam<int> {
 protected:
  static constexpr int64_t kSequences = 4, kHeads = 2, kSize = 3, kValue = 4;

  KvCacheModelTest() : random_(static_cast<uint64_t>(GetParam())) {
    const KvCacheSizes sizes = {.sequences = kSequences,
                                .kv_heads = kHeads,
                                .key_size = kSize,
                                .value_size = kValue};
    model_.sequences.resize(kSequences);
    switch (GetParam() % 3) {
      case 0:
        cache_ = std::make_unique<KvCache>(KvCache::Contiguous(sizes, 40));
        break;
      case 1:
        model_.window = 1 + random_.Below(6);
        model_.first_keys = random_.Below(4);
        model_.period = model_.window + random_.Below(5);
        for (Model::Rows& rows : model_.sequences) {
          rows.slots.assign(
              static_cast<size_t>(model_.first_keys + model_.period), -1);
        }
        cache_ = std::make_unique<KvCache>(
            KvCache::Ring(sizes, model_.window, model_.first_keys,
                          model_.period - model_.window + 1));
        break;
      default:
        cache_ = std::make_unique<KvCache>(KvCache::Paged(
            sizes, 40, 5 + random_.Below(20), 1 + random_.Below(7)));
    }
  }

  void Append();
  void AppendPacked();
  void Trim();
  void Fork();
  void ExpectSame(int64_t s);

  Random random_;
  Model model_;
  std::unique_ptr<KvCache> cache_;
};

void KvCacheModelTest::Append() {
  const int64_t s = random_.Below(kSequences), rows = random_.Below(6);
  const Tensor k = random_.Numbers({1, kHeads, rows, kSize});
  const Tensor v = random_.Numbers({1, kHeads, rows, kValue});
  const int64_t length = cache_->length(s), free = cache_->free_pages();
  try {
    cache_->AppendTo(s, k, v);
  } catch (const Error&) {
    EXPECT_EQ(cache_->length(s), length);
    EXPECT_EQ(cache_->free_pages(), free);
    const bool full = length + rows > 40 && model_.period == 0;
    EXPECT_TRUE(full || cache_->pages() > 0);
    return;
  }
  for (int64_t i = 0; i < rows; ++i) model_.Append(s, k, v, i);
}

void KvCacheModelTest::AppendPacked() {
  int64_t starts[kSequences + 1] = {0};
  for (int64_t s = 0; s < kSequences; ++s) {
    starts[s + 1] = starts[s] + random_.Below(3);
  }
  const int64_t rows = starts[kSequences];
  const Tensor k = random_.Numbers({1, kHeads, rows, kSize});
  const Tensor v = random_.Numbers({1, kHeads, rows, kValue});
  try {
    cache_->AppendPacked(k, v, TensorView(starts, {kSequences + 1}));
  } catch (const Error&) {
    return;
  }
  for (int64_t s = 0; s < kSequences; ++s) {
    for (int64_t i = starts[s]; i < starts[s + 1]; ++i) {
      model_.Append(s, k, v, i);
    }
  }
}

void KvCacheModelTest::Trim() {
  const int64_t s = random_.Below(kSequences);
  Model::Rows& rows = model_.sequences[static_cast<size_t>(s)];
  const int64_t all = static_cast<int64_t>(rows.k.size());
  const int64_t length =
      random_.Below(3) == 0
          ? 0
          : all - random_.Below(std::min<int64_t>(all, 5) + 1);
  bool trimmed = true;
  try {
    cache_->Trim(s, length);
  } catch (const Error&) {
    trimmed = false;
  }
  EXPECT_EQ(trimmed, model_.CanTrim(rows, length)) << length << " of " << all;
  if (!trimmed) return;
  rows.k.resize(static_cast<size_t>(length));
  rows.v.resize(static_cast<size_t>(length));
}

void KvCacheModelTest::Fork() {
  const int64_t from = random_.Below(kSequences),
                to = random_.Below(kSequences);
  const int64_t all = cache_->length(from);
  const int64_t length = random_.Below(2) == 0 ? all : random_.Below(all + 1);
  try {
    cache_->Fork(from, to, length);
  } catch (const Error&) {
    EXPECT_TRUE(cache_->length(to) > 0 || from == to ||
                (model_.period > 0 && length != 0 && length != all));
    return;
  }
  Model::Rows copy = model_.sequences[static_cast<size_t>(from)];
  copy.k.resize(static_cast<size_t>(length));
  copy.v.resize(static_cast<size_t>(length));
  model_.sequences[static_cast<size_t>(to)] = copy;
}

void KvCacheModelTest::ExpectSame(int64_t s) {
  const Model::Rows& rows = model_.sequences[static_cast<size_t>(s)];
  const int64_t length = static_cast<int64_t>(rows.k.size());
  ASSERT_EQ(cache_->length(s), length);
  if (length == 0) return;
  const Tensor k = ArrayOf(rows.k, kHeads, kSize);
  const Tensor v = ArrayOf(rows.v, kHeads, kValue);
  // Attention of the next query, through the window where there is one.
  const Tensor q = random_.Numbers({1, 4, 1, kSize});
  AttentionProblem cached, full;
  cached.q = full.q = q;
  cached.query_offset = full.query_offset = QueryOffset::At(length);
  if (model_.period > 0) {
    cached.mask = full.mask = Mask::Window(model_.window, 0, model_.first_keys);
  }
  cache_->Bind(cached, s, 1);
  full.k = k;
  full.v = v;
  EXPECT_TRUE(SameBits(Attend(cached).out, Attend(full).out));
  // The rows themselves, one by one.
  for (int64_t j = 0; j < length; ++j) {
    Tensor k_read(DType::kF32, {1, kHeads, 1, kSize});
    Tensor v_read(DType::kF32, {1, kHeads, 1, kValue});
    try {
      cache_->Read(s, j, k_read.mutable_view(), v_read.mutable_view());
    } catch (const Error&) {
      // Lost; a ring may give up more than was overwritten, never less than
      // its window.
      EXPECT_GE(j, model_.first_keys);
      EXPECT_LE(j, length - model_.window);
      continue;
    }
    EXPECT_TRUE(model_.Holds(rows, j));
    EXPECT_TRUE(SameBits(k_read, k.view().Slice(2, j, j + 1)));
    EXPECT_TRUE(SameBits(v_read, v.view().Slice(2, j, j + 1)));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, KvCacheModelTest, testing::Range(0, 60));

TEST_P(KvCacheModelTest, RandomOperations) {
  for (int step = 0; step < 150; ++step) {
    switch (random_.Below(6)) {
      case 0:
        Trim();
        break;
      case 1:
        Fork();
        break;
      case 2:
        AppendPacked();
        break;
      default:
        Append();
    }
    if (step % 5 != 0) continue;
    ExpectSame(random_.Below(kSequences));
    if (HasFailure()) return;
  }
  for (int64_t s = 0; s < kSequences; ++s) {
    ExpectSame(s);
    cache_->Trim(s, 0);
  }
  EXPECT_EQ(cache_->free_pages(), cache_->pages());
}

}  // namespace
}  // namespace regard::inline v0
