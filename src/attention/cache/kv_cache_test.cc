// Caches against what they are for: attention over the same keys in one array,
// bit for bit.
#include "regard/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/compare.h"
#include "tests/support/kernels.h"
#include "tests/support/random.h"

namespace regard::inline v0 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string MessageOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor Filled(const Dims& shape, float value) {
  Tensor tensor(DType::kF32, shape);
  std::fill_n(tensor.AsMutable<float>(), tensor.NumElements(), value);
  return tensor;
}

// Rows [begin, end) of `from` [1, H, n, D] at row `at` of `to`.
void Copy(const TensorView& from, int64_t begin, int64_t end, Tensor& to,
          int64_t at) {
  for (int64_t h = 0; h < from.shape[1]; ++h) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t d = 0; d < from.shape[3]; ++d) {
        to.AsMutable<float>()[(h * to.dim(2) + at + i - begin) * to.dim(3) +
                              d] = from.Select(0, 0)
                                       .Select(0, h)
                                       .Select(0, i)
                                       .As<float>()[d * from.strides[3]];
      }
    }
  }
}

Tensor Joined(const TensorView& a, const TensorView& b) {
  Tensor joined(DType::kF32,
                {1, a.shape[1], a.shape[2] + b.shape[2], a.shape[3]});
  Copy(a, 0, a.shape[2], joined, 0);
  Copy(b, 0, b.shape[2], joined, a.shape[2]);
  return joined;
}

constexpr KvCacheSizes kSmall = {
    .sequences = 2, .kv_heads = 2, .key_size = 3, .value_size = 5};

std::vector<KvCache> EveryKind(const KvCacheSizes& sizes) {
  std::vector<KvCache> all;
  all.push_back(KvCache::Contiguous(sizes, 40));
  all.push_back(KvCache::Ring(sizes, 40, 2, 1));
  all.push_back(KvCache::Paged(sizes, 40, 7, 12));
  return all;
}

// tt-metal#54413: no rows of 0 where tiles end.
TEST(KvCacheTest, ReadsBackWhatItWasGiven) {
  for (const DType dtype :
       {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
    KvCacheSizes sizes = kSmall;
    sizes.dtype = dtype;
    for (KvCache& cache : EveryKind(sizes)) {
      Random random(1);
      const Tensor k = random.Numbers({2, 2, 33, 3});
      const Tensor v = random.Numbers({2, 2, 33, 5});
      cache.Append(k.view().Slice(2, 0, 32), v.view().Slice(2, 0, 32));
      cache.Append(k.view().Slice(2, 32, 33), v.view().Slice(2, 32, 33));
      for (const int64_t s : {0, 1}) {
        EXPECT_EQ(cache.length(s), 33);
        Tensor k_read(DType::kF32, {1, 2, 33, 3});
        Tensor v_read(DType::kF32, {1, 2, 33, 5});
        cache.Read(s, 0, k_read.mutable_view(), v_read.mutable_view());
        EXPECT_TRUE(SameBits(k_read, k.view().Slice(0, s, s + 1)));
        EXPECT_TRUE(SameBits(v_read, v.view().Slice(0, s, s + 1)));
        cache.Read(s, 31,
                   MutableTensorView(k_read.AsMutable<float>(), {1, 2, 2, 3}),
                   MutableTensorView(v_read.AsMutable<float>(), {1, 2, 2, 5}));
        EXPECT_TRUE(SameBits(TensorView(k_read.As<float>(), {1, 2, 2, 3}),
                             k.view().Slice(0, s, s + 1).Slice(2, 31, 33)));
      }
    }
  }
}

// Any strides and types; rounded once, to nearest even: case A34.
TEST(KvCacheTest, RoundsToItsType) {
  const double k = 0.26914087, v = kNaN;
  KvCache cache = KvCache::Contiguous({.sequences = 1,
                                       .kv_heads = 2,
                                       .key_size = 2,
                                       .value_size = 1,
                                       .dtype = DType::kBF16},
                                      3);
  cache.Append(TensorView(&k, DType::kF64, {1, 2, 3, 2}, {0, 0, 0, 0}),
               TensorView(&v, DType::kF64, {1, 2, 3, 1}, {0, 0, 0, 0}));
  Tensor k_read(DType::kF32, {1, 2, 3, 2}), v_read(DType::kF32, {1, 2, 3, 1});
  cache.Read(0, 0, k_read.mutable_view(), v_read.mutable_view());
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(k_read.As<float>()[i], 0.26953125f);
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_TRUE(std::isnan(v_read.As<float>()[i]));
}

// ComfyUI#15698: lengths 2 and 4, one step: positions 2 and 4.
TEST(KvCacheTest, SequencesHaveLengthsOfTheirOwn) {
  for (KvCache& cache : EveryKind(kSmall)) {
    Random random(2);
    const int64_t starts[3] = {0, 2, 6};
    const Tensor k = random.Numbers({1, 2, 6, 3}),
                 v = random.Numbers({1, 2, 6, 5});
    cache.AppendPacked(k, v, TensorView(starts, {3}));
    EXPECT_EQ(cache.length(0), 2);
    EXPECT_EQ(cache.length(1), 4);
    const Tensor one_k = random.Numbers({2, 2, 1, 3});
    const Tensor one_v = random.Numbers({2, 2, 1, 5});
    cache.Append(one_k, one_v);
    Tensor k_read(DType::kF32, {1, 2, 1, 3}), v_read(DType::kF32, {1, 2, 1, 5});
    cache.Read(0, 2, k_read.mutable_view(), v_read.mutable_view());
    EXPECT_TRUE(SameBits(k_read, one_k.view().Slice(0, 0, 1)));
    cache.Read(1, 4, k_read.mutable_view(), v_read.mutable_view());
    EXPECT_TRUE(SameBits(v_read, one_v.view().Slice(0, 1, 2)));
    EXPECT_EQ(cache.length(1), 5);
  }
}

TEST(KvCacheTest, ErrorsComeBeforeAnyWrite) {
  Random random(3);
  const Tensor k = random.Numbers({2, 2, 4, 3}),
               v = random.Numbers({2, 2, 4, 5});
  for (KvCache& cache : EveryKind(kSmall)) {
    cache.Append(k, v);
    const int64_t free = cache.free_pages();
    const Tensor wrong = random.Numbers({2, 2, 3, 5});
    EXPECT_THAT(MessageOf([&] { cache.Append(k, wrong); }),
                AllOf(HasSubstr("KvCache::Append: v"),
                      HasSubstr("[2, 2, 3, 5]"), HasSubstr("[2, 2, 4, 5]")));
    EXPECT_THAT(MessageOf([&] { cache.AppendTo(2, k, v); }),
                HasSubstr("KvCache::AppendTo: sequence: 2 is not one of"));
    const int64_t starts[3] = {0, 5, 4};
    EXPECT_THAT(MessageOf([&] {
                  cache.AppendPacked(k.view().Slice(0, 0, 1),
                                     v.view().Slice(0, 0, 1),
                                     TensorView(starts, {3}));
                }),
                HasSubstr("KvCache::AppendPacked: starts: 4 of entry 2"));
    AttentionProblem bound;
    cache.Bind(bound);
    EXPECT_THAT(MessageOf([&] {
                  cache.Append(bound.k.Slice(0, 0, 2).Slice(2, 0, 4), v);
                }),
                HasSubstr("shares memory with the cache"));
    const uint8_t bytes[48] = {};
    EXPECT_THAT(MessageOf([&] {
                  cache.Append(TensorView(bytes, {2, 2, 4, 3}), v);
                }),
                HasSubstr("type u8"));
    EXPECT_THAT(
        MessageOf([&] { cache.Trim(0, 5); }),
        HasSubstr("KvCache::Trim: length: 5 is not within 0 and the 4"));
    EXPECT_THAT(MessageOf([&] { cache.Fork(0, 1); }),
                HasSubstr("KvCache::Fork: to: sequence 1 isn't empty"));
    EXPECT_THAT(MessageOf([&] { cache.Bind(bound, 1, 2); }),
                HasSubstr("2 from 1 on"));
    Tensor k_read(DType::kF32, {1, 2, 2, 3}), v_read(DType::kF32, {1, 2, 2, 5});
    EXPECT_THAT(MessageOf([&] {
                  cache.Read(0, 3, k_read.mutable_view(),
                             v_read.mutable_view());
                }),
                HasSubstr("2 keys from 3 on"));
    EXPECT_EQ(cache.length(0), 4);
    EXPECT_EQ(cache.length(1), 4);
    EXPECT_EQ(cache.free_pages(), free);
  }
  EXPECT_THAT(MessageOf([] { KvCache::Contiguous(kSmall, -1); }),
              HasSubstr("KvCache::Contiguous: capacity: -1"));
  EXPECT_THAT(MessageOf([] { KvCache::Ring(kSmall, 0, 0, 1); }),
              HasSubstr("KvCache::Ring: window: 0"));
  EXPECT_THAT(MessageOf([] { KvCache::Paged(kSmall, 4, 4, 0); }),
              HasSubstr("KvCache::Paged: page_rows: 0"));
  KvCacheSizes sizes = kSmall;
  sizes.dtype = DType::kI32;
  EXPECT_THAT(MessageOf([&] { KvCache::Contiguous(sizes, 4); }),
              AllOf(HasSubstr("dtype"), HasSubstr("i32")));
  sizes = kSmall;
  sizes.kv_heads = int64_t{1} << 40;
  sizes.value_size = int64_t{1} << 40;
  EXPECT_THAT(MessageOf([&] { KvCache::Contiguous(sizes, 4); }),
              HasSubstr("64"));
}

// flash-attention#2709: more tokens than capacity, or than pages.
TEST(KvCacheTest, MoreKeysThanThereIsRoomFor) {
  Random random(4);
  const Tensor k = random.Numbers({1, 2, 5, 3}),
               v = random.Numbers({1, 2, 5, 5});
  KvCache narrow = KvCache::Paged(kSmall, 4, 8, 4);
  EXPECT_THAT(MessageOf([&] { narrow.AppendTo(0, k, v); }),
              AllOf(HasSubstr("5 keys behind the 0 of sequence 0"),
                    HasSubstr("capacity of 4")));
  KvCache few = KvCache::Paged(kSmall, 40, 1, 4);
  EXPECT_THAT(MessageOf([&] { few.AppendTo(0, k, v); }),
              HasSubstr("2 pages are needed, 1 of 1 are free"));
  EXPECT_EQ(few.length(0), 0);
  EXPECT_EQ(few.free_pages(), 1);
}

// mlx-swift-lm#584: a ring of 4 after 6 tokens.
TEST(KvCacheTest, ARingIsTrimmedAsFarAsItsWindowIsThere) {
  Random random(5);
  const Tensor k = random.Numbers({1, 2, 6, 3}),
               v = random.Numbers({1, 2, 6, 5});
  KvCache cache = KvCache::Ring(kSmall, 4, 0, 1);
  for (int64_t i = 0; i < 6; ++i) {
    cache.AppendTo(0, k.view().Slice(2, i, i + 1), v.view().Slice(2, i, i + 1));
  }
  EXPECT_EQ(cache.oldest(0), 2);
  // The query at 4 would see key 1.
  EXPECT_THAT(MessageOf([&] { cache.Trim(0, 4); }),
              AllOf(HasSubstr("needs key 1"), HasSubstr("from 2 on")));
  cache.Trim(0, 5);
  EXPECT_EQ(cache.length(0), 5);
  // Again what it was: key 1, which is lost, is still known to be.
  cache.AppendTo(0, k.view().Slice(2, 5, 6), v.view().Slice(2, 5, 6));
  Tensor k_read(DType::kF32, {1, 2, 4, 3}), v_read(DType::kF32, {1, 2, 4, 5});
  cache.Read(0, 2, k_read.mutable_view(), v_read.mutable_view());
  EXPECT_TRUE(SameBits(k_read, k.view().Slice(2, 2, 6)));
  EXPECT_THAT(MessageOf([&] {
                cache.Read(0, 1, k_read.mutable_view(), v_read.mutable_view());
              }),
              HasSubstr("before 2 have been evicted"));
}

// A query that sees itself alone needs none of what was overwritten.
TEST(KvCacheTest, AWindowOfOneIsTrimmedToAnyLength) {
  Random random(11);
  const Tensor k = random.Numbers({1, 2, 18, 3});
  const Tensor v = random.Numbers({1, 2, 18, 5});
  KvCache cache = KvCache::Ring(kSmall, 1, 0, 5);
  cache.AppendTo(0, k, v);
  cache.Trim(0, 8);
  cache.AppendTo(0, k.view().Slice(2, 8, 9), v.view().Slice(2, 8, 9));
  AttentionProblem p;
  p.q = k.view().Slice(2, 0, 1);
  p.query_offset = QueryOffset::BottomRight();
  p.mask = Mask::Window(1, 0);
  cache.Bind(p, 0, 1);
  EXPECT_TRUE(SameBits(Attend(p).out, v.view().Slice(2, 8, 9)));
}

// After a trim less is held than the period says: a problem that asks for it is
// refused.
TEST(KvCacheTest, WhatATrimLeftIsAllThatIsShown) {
  Random random(6);
  const Tensor k = random.Numbers({1, 2, 9, 3}),
               v = random.Numbers({1, 2, 9, 5});
  KvCache cache = KvCache::Ring(
      {.sequences = 1, .kv_heads = 2, .key_size = 3, .value_size = 5}, 3, 0, 3);
  cache.Append(k, v);  // 4 to 8 are held
  cache.Trim(0, 6);
  AttentionProblem p;
  const Tensor q = random.Numbers({1, 2, 1, 3});
  p.q = q;
  p.query_offset = QueryOffset::At(6);
  cache.Bind(p);
  p.mask = Mask::Window(3, 0);
  EXPECT_NO_THROW(Attend(p));
  p.mask = Mask::Window(4, 0);
  EXPECT_THAT(MessageOf([&] { Attend(p); }),
              AllOf(HasSubstr("may show key 3"), HasSubstr("the last 2 only")));
}

// atlas#1193: two sequences share 6 tokens in pages of 4, then differ.
TEST(KvCacheTest, ASharedPageIsCopiedBeforeItIsWritten) {
  Random random(7);
  KvCacheSizes sizes = kSmall;
  sizes.sequences = 3;
  KvCache cache = KvCache::Paged(sizes, 12, 6, 4);
  const Tensor k = random.Numbers({1, 2, 6, 3}),
               v = random.Numbers({1, 2, 6, 5});
  cache.AppendTo(0, k, v);
  cache.Fork(0, 1);
  EXPECT_EQ(cache.free_pages(), 4);  // nothing copied yet
  AttentionProblem p;
  const Tensor q = random.Numbers({1, 2, 1, 3});
  p.q = q;
  cache.Bind(p, 0, 1);
  const Tensor before = Attend(p).out.Clone();
  const Tensor more_k = random.Numbers({1, 2, 1, 3});
  const Tensor more_v = random.Numbers({1, 2, 1, 5});
  cache.AppendTo(1, more_k, more_v);
  EXPECT_EQ(cache.free_pages(), 3);
  EXPECT_TRUE(SameBits(Attend(p).out, before));
  // Its own last page is its own again: written in place.
  cache.AppendTo(0, more_k, more_v);
  EXPECT_EQ(cache.free_pages(), 3);
  cache.Bind(p, 1, 1);
  const Tensor keys = Joined(k, more_k), values = Joined(v, more_v);
  AttentionProblem full;
  full.q = q;
  full.k = keys;
  full.v = values;
  EXPECT_TRUE(SameBits(Attend(p).out, Attend(full).out));
  cache.Trim(0, 0);
  EXPECT_EQ(cache.free_pages(), 4);  // page 0 is still sequence 1's
  EXPECT_TRUE(SameBits(Attend(p).out, Attend(full).out));
  cache.Trim(1, 0);
  EXPECT_EQ(cache.free_pages(), 6);
}

// All who share a page write to it in one call: the last keeps it.
TEST(KvCacheTest, PagesAreCountedExactly) {
  Random random(8);
  const Tensor k = random.Numbers({1, 2, 6, 3}),
               v = random.Numbers({1, 2, 6, 5});
  KvCache cache = KvCache::Paged(kSmall, 12, 3, 4);
  cache.AppendTo(0, k, v);
  cache.Fork(0, 1);
  EXPECT_EQ(cache.free_pages(), 1);
  const Tensor more_k = random.Numbers({2, 2, 1, 3});
  const Tensor more_v = random.Numbers({2, 2, 1, 5});
  cache.Append(more_k, more_v);
  EXPECT_EQ(cache.free_pages(), 0);
  for (const int64_t s : {0, 1}) {
    Tensor k_read(DType::kF32, {1, 2, 7, 3}), v_read(DType::kF32, {1, 2, 7, 5});
    cache.Read(s, 0, k_read.mutable_view(), v_read.mutable_view());
    EXPECT_TRUE(SameBits(v_read, Joined(v, more_v.view().Slice(0, s, s + 1))));
  }
}

// pypto#470: scattered pages, here because of what was freed in between.
TEST(KvCacheTest, ScatteredPages) {
  Random random(9);
  KvCache cache = KvCache::Paged(kSmall, 8, 4, 2);
  const Tensor junk = Filled({1, 2, 2, 5}, kNaN);
  const TensorView junk_k = TensorView(junk.As<float>(), {1, 2, 2, 3});
  const Tensor k = random.Numbers({1, 2, 5, 3}),
               v = random.Numbers({1, 2, 5, 5});
  cache.AppendTo(1, junk_k, junk);  // page 0
  cache.AppendTo(0, k.view().Slice(2, 0, 2), v.view().Slice(2, 0, 2));  // 1
  cache.AppendTo(1, junk_k, junk);  // page 2
  cache.Trim(1, 0);
  cache.AppendTo(0, k.view().Slice(2, 2, 5), v.view().Slice(2, 2, 5));
  AttentionProblem p, full;
  const Tensor q = random.Numbers({1, 4, 1, 3});
  p.q = full.q = q;
  cache.Bind(p, 0, 1);
  EXPECT_EQ(p.block_table.As<int64_t>()[0], 1);
  EXPECT_NE(p.block_table.As<int64_t>()[1], 2);
  full.k = k;
  full.v = v;
  EXPECT_TRUE(SameBits(Attend(p).out, Attend(full).out));
}

// transformers#35350: the first key and a window of 2 are kept; 0 to 4 were
// seen, so 0, 3 and 4 are left. The next token stands at 5, not at 3.
TEST(KvCacheTest, PositionsAreTrueAfterEviction) {
  const KvCacheSizes sizes = {
      .sequences = 1, .kv_heads = 1, .key_size = 1, .value_size = 1};
  KvCache cache = KvCache::Ring(sizes, 2, 1, 1);
  const float zero = 0;
  for (int64_t i = 0; i < 6; ++i) {
    const float value = static_cast<float>(1 << i);
    cache.Append(TensorView(&zero, {1, 1, 1, 1}),
                 TensorView(&value, {1, 1, 1, 1}));
    if (i == 4) {
      EXPECT_EQ(cache.oldest(0), 3);
    }
  }
  EXPECT_EQ(cache.length(0), 6);
  AttentionProblem p;
  p.q = TensorView(&zero, {1, 1, 1, 1});
  cache.Bind(p);
  p.query_offset = QueryOffset::BottomRight();
  p.mask = Mask::Causal() & Mask::Window(2, 0, 1);
  const float slope = 1;
  p.alibi_slopes = TensorView(&slope, {1});
  const AttentionResult result = Attend(p, {.weights = true});
  // Distances 5, 1 and 0 to the keys 0, 4 and 5.
  const double sum = std::exp(-5.0) + std::exp(-1.0) + 1;
  EXPECT_EQ(result.weights.shape(), (Dims{1, 1, 1, 6}));
  const double expected[6] = {std::exp(-5.0) / sum, 0,      0, 0,
                              std::exp(-1.0) / sum, 1 / sum};
  for (int64_t j = 0; j < 6; ++j) {
    EXPECT_NEAR(result.weights.As<float>()[j], expected[j], 1e-7);
  }
}

// unsloth#8253: the same window on every path. Prompt and tokens through each
// kind of cache, against one call over everything.
class KvCacheDecodeTest : public testing::TestWithParam<KernelOnTarget> {
 protected:
  static DType Type() { return TypeFor(GetParam().kernel); }
  // The types of a cache that the kernel serves, beside q of Type().
  static std::vector<DType> NarrowTypes() {
    if (Type() == DType::kBF16) return {DType::kBF16};
    return {DType::kBF16, DType::kF16};
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, KvCacheDecodeTest,
                         testing::ValuesIn(KernelsOfAnyType()),
                         [](const auto& info) { return info.param.Name(); });

TEST_P(KvCacheDecodeTest, AsOneCallOverEverything) {
  constexpr int64_t kKeys = 700, kPrompt = 560, kWindow = 90, kFirst = 3;
  const KvCacheSizes sizes = {.sequences = 1,
                              .kv_heads = 2,
                              .key_size = 24,
                              .value_size = 20,
                              .dtype = Type()};
  Random random(10);
  const Tensor q = Converted(random.Numbers({1, 6, kKeys, 24}), Type());
  const Tensor k = Converted(random.Numbers({1, 2, kKeys, 24}), Type());
  const Tensor v = Converted(random.Numbers({1, 2, kKeys, 20}), Type());
  AttentionProblem full;
  full.q = q;
  full.k = k;
  full.v = v;
  full.mask = Mask::Causal() & Mask::Window(kWindow, 0, kFirst);
  const AttentionOptions options = OptionsFor(GetParam(), 2);
  const AttentionResult expected = Attend(full, options);
  std::vector<KvCache> caches;
  caches.push_back(KvCache::Contiguous(sizes, kKeys));
  caches.push_back(KvCache::Ring(sizes, kWindow, kFirst, 5));
  caches.push_back(KvCache::Paged(sizes, kKeys, 48, 16));
  caches.push_back(KvCache::Paged(sizes, kKeys, 102, 7));
  for (KvCache& cache : caches) {
    int64_t at = kPrompt;
    cache.Append(k.view().Slice(2, 0, at), v.view().Slice(2, 0, at));
    AttentionProblem p;
    p.mask = full.mask;
    p.query_offset = QueryOffset::BottomRight();
    cache.Bind(p);
    for (int64_t step = 0; at < kKeys; ++step) {
      const int64_t next = std::min(at + 1 + step % 5, kKeys);
      cache.Append(k.view().Slice(2, at, next), v.view().Slice(2, at, next));
      p.q = q.view().Slice(2, at, next);
      const AttentionResult part = Attend(p, options);
      EXPECT_TRUE(SameBits(part.out, expected.out.view().Slice(2, at, next)));
      EXPECT_TRUE(SameBits(part.lse, expected.lse.view().Slice(2, at, next)));
      if (HasFailure()) return;
      at = next;
    }
  }
}

// Keys and values rounded to the type of the cache, as if they had been given
// in it.
TEST_P(KvCacheDecodeTest, InTheTypeOfTheCache) {
  constexpr int64_t kKeys = 540;
  Random random(12);
  const Tensor q = Converted(random.Numbers({1, 4, 5, 40}), Type());
  const Tensor k = random.Numbers({1, 2, kKeys, 40});
  const Tensor v = random.Numbers({1, 2, kKeys, 40});
  const AttentionOptions options = OptionsFor(GetParam(), 2);
  for (const DType dtype : NarrowTypes()) {
    const Tensor narrow_k = Converted(k, dtype), narrow_v = Converted(v, dtype);
    AttentionProblem full;
    full.q = q;
    full.k = narrow_k;
    full.v = narrow_v;
    const AttentionResult expected = Attend(full, options);
    const KvCacheSizes sizes = {.sequences = 1,
                                .kv_heads = 2,
                                .key_size = 40,
                                .value_size = 40,
                                .dtype = dtype};
    std::vector<KvCache> caches;
    caches.push_back(KvCache::Contiguous(sizes, kKeys + 3));
    caches.push_back(KvCache::Ring(sizes, kKeys, 2, 9));
    caches.push_back(KvCache::Paged(sizes, kKeys, 40, 16));
    for (KvCache& cache : caches) {
      cache.Append(k.view().Slice(2, 0, 100), narrow_v.view().Slice(2, 0, 100));
      cache.Append(narrow_k.view().Slice(2, 100, kKeys),
                   v.view().Slice(2, 100, kKeys));
      AttentionProblem p;
      p.q = q;
      cache.Bind(p);
      EXPECT_TRUE(SameBits(Attend(p, options).out, expected.out));
    }
  }
}

// Pages of an odd size that don't follow each other, with values whose sum
// overflows, too: their means are computed a second time.
TEST_P(KvCacheDecodeTest, OddPages) {
  constexpr int64_t kKeys = 90;
  const KvCacheSizes sizes = {.sequences = 2,
                              .kv_heads = 2,
                              .key_size = 24,
                              .value_size = 20,
                              .dtype = Type()};
  Random random(14);
  const Tensor q = Converted(random.Numbers({1, 4, 3, 24}), Type());
  const Tensor k = Converted(random.Numbers({1, 2, kKeys, 24}), Type());
  for (const float factor : {1.0f, 0x1p126f}) {
    Tensor numbers = random.Numbers({1, 2, kKeys, 20});
    for (int64_t i = 0; i < numbers.NumElements(); ++i) {
      float& value = numbers.AsMutable<float>()[i];
      value = std::fabs(value) * factor;
    }
    const Tensor v = Converted(numbers, Type());
    AttentionProblem whole, p;
    whole.q = p.q = q;
    whole.k = k;
    whole.v = v;
    const AttentionOptions options = OptionsFor(GetParam(), 2);
    const AttentionResult expected = Attend(whole, options);
    const Tensor out = Converted(expected.out, DType::kF32);
    for (int64_t i = 0; i < out.NumElements(); ++i) {
      ASSERT_TRUE(std::isfinite(out.As<float>()[i])) << i;
    }
    KvCache cache = KvCache::Paged(sizes, kKeys, 26, 7);
    for (int64_t at = 0; at < kKeys; at += 5) {
      for (const int64_t sequence : {0, 1}) {
        cache.AppendTo(sequence, k.view().Slice(2, at, at + 5),
                       v.view().Slice(2, at, at + 5));
      }
    }
    cache.Bind(p, 1, 1);
    EXPECT_TRUE(SameBits(Attend(p, options).out, expected.out)) << factor;
  }
}

// Of the kernels that serve all types.
class KvCacheAnyTypeTest : public testing::TestWithParam<KernelOnTarget> {};

INSTANTIATE_TEST_SUITE_P(Kernels, KvCacheAnyTypeTest,
                         testing::ValuesIn(AllKernels()),
                         [](const auto& info) { return info.param.Name(); });

// i8 is the attention over what the cache reads back, bit for bit.
TEST_P(KvCacheAnyTypeTest, InEightBits) {
  constexpr int64_t kKeys = 540;
  Random random(13);
  const Tensor q = random.Numbers({1, 4, 5, 40});
  const Tensor k = random.Numbers({1, 2, kKeys, 40});
  const Tensor v = random.Numbers({1, 2, kKeys, 24});
  const AttentionOptions options = OptionsFor(GetParam(), 2);
  const KvCacheSizes sizes = {.sequences = 2,
                              .kv_heads = 2,
                              .key_size = 40,
                              .value_size = 24,
                              .dtype = DType::kI8};
  std::vector<KvCache> caches;
  caches.push_back(KvCache::Contiguous(sizes, kKeys + 3));
  caches.push_back(KvCache::Ring(sizes, kKeys, 2, 9));
  caches.push_back(KvCache::Paged(sizes, kKeys, 70, 16));
  caches.push_back(KvCache::Paged(sizes, kKeys, 160, 7));
  for (KvCache& cache : caches) {
    cache.AppendTo(0, k.view().Slice(2, 0, 533), v.view().Slice(2, 0, 533));
    cache.Fork(0, 1);
    cache.AppendTo(1, k.view().Slice(2, 533, kKeys),
                   v.view().Slice(2, 533, kKeys));
    cache.AppendTo(0, k.view().Slice(2, 0, 7), v.view().Slice(2, 0, 7));
    Tensor read_k(DType::kF32, {1, 2, kKeys, 40});
    Tensor read_v(DType::kF32, {1, 2, kKeys, 24});
    cache.Read(1, 0, read_k.mutable_view(), read_v.mutable_view());
    // Half a step of 2 / 127 at most, as the largest magnitude is 2.
    EXPECT_TRUE(AllWithin(read_k, k, 1 / 126.9));
    EXPECT_TRUE(AllWithin(read_v, v, 1 / 126.9));
    AttentionProblem p, full;
    p.q = full.q = q;
    full.k = read_k;
    full.v = read_v;
    cache.Bind(p, 1, 1);
    EXPECT_TRUE(SameBits(Attend(p, options).out, Attend(full, options).out));
  }
}

TEST(KvCacheTest, RowsOfEightBits) {
  const KvCacheSizes sizes = {.sequences = 1,
                              .kv_heads = 1,
                              .key_size = 3,
                              .value_size = 2,
                              .dtype = DType::kI8};
  KvCache cache = KvCache::Contiguous(sizes, 4);
  // The scale of 254, 1 and -3 is 2: 127, 0 (a tie) and -2 (from -1.5).
  const float k[12] = {254, 1, -3, 0, 0, 0, 1, kNaN, 1, 1e-45f, 0, 0};
  const float v[8] = {1, -1, HUGE_VALF, 1, 3e38f, -3e38f, 0, -0.0f};
  cache.Append(TensorView(k, {1, 1, 4, 3}), TensorView(v, {1, 1, 4, 2}));
  Tensor k_read(DType::kF32, {1, 1, 4, 3}), v_read(DType::kF32, {1, 1, 4, 2});
  cache.Read(0, 0, k_read.mutable_view(), v_read.mutable_view());
  const float* keys = k_read.As<float>();
  EXPECT_EQ(keys[0], 254);
  EXPECT_EQ(keys[1], 0);
  EXPECT_EQ(keys[2], -4);
  EXPECT_EQ(keys[3], 0);
  for (int i = 6; i < 9; ++i) EXPECT_TRUE(std::isnan(keys[i]));
  EXPECT_EQ(keys[9], 0);
  const float* values = v_read.As<float>();
  EXPECT_FLOAT_EQ(values[1], -1);
  EXPECT_TRUE(std::isnan(values[2]) && std::isnan(values[3]));
  EXPECT_FLOAT_EQ(values[4], 3e38f);
  EXPECT_EQ(values[6], 0);
  EXPECT_GE(cache.bytes(), 4 * (3 + 2 + 4 + 4) * sizeof(int8_t));
}

TEST(KvCacheTest, BytesAreThoseOfItsRows) {
  const KvCacheSizes sizes = {.sequences = 3,
                              .kv_heads = 2,
                              .key_size = 64,
                              .value_size = 32,
                              .dtype = DType::kBF16};
  const size_t row = 2 * (64 + 32) * 2;
  const auto near = [](size_t bytes, size_t expected) {
    return bytes >= expected && bytes < expected + 2000;
  };
  EXPECT_TRUE(near(KvCache::Contiguous(sizes, 100).bytes(), 3 * 100 * row));
  EXPECT_TRUE(near(KvCache::Ring(sizes, 50, 4, 7).bytes(), 3 * 60 * row));
  EXPECT_TRUE(near(KvCache::Paged(sizes, 100, 9, 16).bytes(), 9 * 16 * row));
}

}  // namespace
}  // namespace regard::inline v0
