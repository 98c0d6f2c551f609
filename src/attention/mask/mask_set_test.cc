#include "attention/mask/mask_set.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>

#include "tests/support/random.h"

namespace regard::inline v0 {
namespace {

__extension__ using Wide = __int128;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct RandomMask {
  Mask mask;
  MaskFrame frame;
  bool exact = true;  // one term alone never says kMixed without need
  std::vector<uint8_t> pattern, layout, bits;
  std::vector<int32_t> query_ids;
  std::vector<int64_t> key_ids;
};

// `count` bytes, mostly set, mostly not, or mixed.
std::vector<uint8_t> Bytes(int64_t count, Random& random) {
  std::vector<uint8_t> bytes;
  const int64_t mostly = random.Below(3);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = random.Below(12);
    bytes.push_back(mostly == 0   ? value == 0
                    : mostly == 1 ? value != 0
                                  : value % 2);
  }
  return bytes;
}

// Ids that grow, or any.
template <typename T>
std::vector<T> DocumentIds(int64_t count, Random& random) {
  std::vector<T> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<T>(random.Below(4) - 2));
  }
  if (random.Below(2) == 0) std::sort(ids.begin(), ids.end());
  return ids;
}

void AddDocuments(RandomMask& r, Random& random) {
  const int64_t queries = r.frame.query_length, keys = r.frame.key_length;
  r.query_ids = DocumentIds<int32_t>(2 * queries, random);
  r.key_ids = DocumentIds<int64_t>(keys, random);
  r.mask =
      r.mask & Mask::Documents(TensorView(r.query_ids.data(), {2, queries}),
                               random.Below(2) == 0
                                   ? TensorView(r.key_ids.data(), {keys})
                                   : TensorView(r.key_ids.data(), {1, keys}));
}

// Every second key; asked for nothing more.
class EvenKeys : public MaskFunction {
 public:
  bool Allows(const MaskFrame&, int64_t, int64_t key) const noexcept override {
    return key % 2 == 0;
  }
};

// The last three keys, with all answers; the range is wider than the keys.
class LastKeys : public MaskFunction {
 public:
  bool Allows(const MaskFrame& frame, int64_t,
              int64_t key) const noexcept override {
    return key >= frame.key_length - 3;
  }
  IndexRange Range(const MaskFrame& frame, IndexRange,
                   IndexRange) const noexcept override {
    return {frame.key_length - 3, frame.key_length + 5};
  }
  TileClass Classify(const MaskFrame& frame,
                     const ScoreTile& tile) const noexcept override {
    const int64_t first = frame.key_length - 3;
    return tile.keys.end <= first     ? TileClass::kEmpty
           : tile.keys.begin >= first ? TileClass::kFull
                                      : TileClass::kMixed;
  }
};

void AddLayout(RandomMask& r, Random& random) {
  const int64_t rows = 1 + random.Below(10), columns = 1 + random.Below(12);
  Dims shape = {2, 3, (r.frame.query_length + rows - 1) / rows,
                (r.frame.key_length + columns - 1) / columns};
  for (int axis = 0; axis < 2; ++axis) {
    if (random.Below(3) == 0) shape[axis] = 1;
  }
  r.layout = Bytes(NumElements(shape), random);
  r.mask =
      r.mask & Mask::BlockSparse(TensorView(r.layout.data(), DType::kU8, shape),
                                 rows, columns);
}

void AddBits(RandomMask& r, Random& random) {
  Dims shape = {2, 3, r.frame.query_length, (r.frame.key_length + 7) / 8};
  for (int axis = 0; axis < 3; ++axis) {
    if (random.Below(3) == 0) shape[axis] = 1;
  }
  for (const uint8_t byte : Bytes(NumElements(shape), random)) {
    const int64_t odd = random.Below(4) == 0 ? 1 << random.Below(8) : 0;
    r.bits.push_back(static_cast<uint8_t>((byte * 255) ^ odd));
  }
  r.mask = r.mask & Mask::Bits(TensorView(r.bits.data(), DType::kU8, shape));
}

// An intersection of up to eleven terms, over up to 9 x 150 scores.
RandomMask MakeMask(Random& random) {
  RandomMask r;
  r.frame.query_length = 1 + random.Below(9);
  r.frame.key_length = 1 + random.Below(random.Below(3) == 0 ? 150 : 11);
  r.frame.batch = random.Below(2);
  r.frame.head = random.Below(3);
  r.frame.offset = random.Below(25) - 12;
  if (random.Below(2) == 0) r.mask = r.mask & Mask::Causal();
  if (random.Below(3) == 0) r.mask = r.mask & Mask::Prefix(random.Below(12));
  if (random.Below(3) == 0) r.mask = r.mask & Mask::Chunk(1 + random.Below(7));
  if (random.Below(2) == 0) {
    std::optional<int64_t> left, right;
    if (random.Below(3) != 0) left = 1 + random.Below(8);
    if (random.Below(3) != 0) right = random.Below(8);
    const int64_t first_keys = random.Below(2) == 0 ? 0 : random.Below(9);
    r.mask = r.mask & Mask::Window(left, right, first_keys);
  }
  if (random.Below(2) == 0) {
    const auto lengths = [&](int64_t limit) {
      std::vector<int64_t> list;
      if (random.Below(3) == 0) return list;
      for (int b = 0; b < 2; ++b) list.push_back(random.Below(limit + 1));
      return list;
    };
    r.mask = r.mask & Mask::Lengths(lengths(r.frame.query_length),
                                    lengths(r.frame.key_length));
  }
  if (random.Below(2) == 0) {
    Dims shape = {2, 3, r.frame.query_length, r.frame.key_length};
    for (int axis = 0; axis < 4; ++axis) {
      if (random.Below(3) == 0) shape[axis] = 1;
    }
    r.pattern = Bytes(NumElements(shape), random);
    r.mask =
        r.mask & Mask::Boolean(TensorView(r.pattern.data(), DType::kU8, shape));
  }
  if (random.Below(6) == 0) {
    r.mask = r.mask & Mask::Custom(std::make_shared<EvenKeys>());
    r.exact = false;
  }
  if (random.Below(6) == 0) {
    r.mask = r.mask & Mask::Custom(std::make_shared<LastKeys>());
  }
  if (random.Below(4) == 0) AddDocuments(r, random);
  if (random.Below(4) == 0) AddLayout(r, random);
  if (random.Below(4) == 0) AddBits(r, random);
  return r;
}

// The brute-force answer to Classify.
TileClass ClassOf(const MaskSet& set, const ScoreTile& tile) {
  bool some = false, all = true;
  for (int64_t q = tile.queries.begin; q < tile.queries.end; ++q) {
    for (int64_t k = tile.keys.begin; k < tile.keys.end; ++k) {
      (set.Allows(q, k) ? some : all) = set.Allows(q, k);
    }
  }
  return !some ? TileClass::kEmpty : all ? TileClass::kFull : TileClass::kMixed;
}

// Whether SetRow sets the bits of the visible keys, and no others.
bool RowIsRight(const MaskSet& set, int64_t query, IndexRange keys) {
  const int64_t first = keys.begin / kKeysPerWord * kKeysPerWord;
  std::vector<uint64_t> words(
      static_cast<size_t>((keys.end - first) / kKeysPerWord + 1));
  set.SetRow(query, keys, {first, words.data()});
  for (size_t i = 0; i < 64 * words.size(); ++i) {
    const int64_t key = first + static_cast<int64_t>(i);
    const bool expected =
        key >= keys.begin && key < keys.end && set.Allows(query, key);
    if ((words[i / 64] >> (i % 64) & 1) != expected) return false;
  }
  return true;
}

TEST(MaskSetTest, RangeClassifyAndSetRowAgreeWithAllows) {
  Random random(7);
  int seen[3] = {};
  for (int round = 0; round < 10000; ++round) {
    const RandomMask r = MakeMask(random);
    // What is known of ids changes no answer.
    DocumentIndex index;
    index.growing = IdsGrow(r.mask) && random.Below(4) != 0;
    std::vector<IdRange> pieces(static_cast<size_t>(PiecesOf(r.mask)));
    FillPieces(r.mask, pieces.data());
    if (random.Below(2) == 0) index.pieces = pieces.data();
    const MaskSet set(r.mask, r.frame, index);
    const int64_t q0 = random.Below(r.frame.query_length);
    const int64_t q1 = q0 + 1 + random.Below(r.frame.query_length - q0);
    const int64_t k0 = random.Below(r.frame.key_length);
    const int64_t k1 = k0 + 1 + random.Below(r.frame.key_length - k0);
    const IndexRange range = set.Range({q0, q1}, {k0, k1});
    const ScoreTile tile = {{q0, q1}, {k0, k1}};
    ASSERT_TRUE(range.empty() || (range & tile.keys) == range);

    for (int64_t q = q0; q < q1; ++q) {
      for (int64_t k = k0; k < k1; ++k) {
        if (k < range.begin || k >= range.end) {
          ASSERT_FALSE(set.Allows(q, k)) << "Range hides a visible key";
        }
      }
      const IndexRange row = set.Range({q, q + 1}, {k0, k1});
      ASSERT_TRUE(row.empty() || (row & range) == row) << "more in fewer rows";
      ASSERT_TRUE(RowIsRight(set, q, {k0, k1}));
      if (set.HasPattern()) continue;
      for (int64_t k = row.begin; k < row.end; ++k) {
        ASSERT_TRUE(set.Allows(q, k)) << "a range with a hole";
      }
    }
    // kMixed is always safe; the other two are promises. Two mixed terms may
    // leave nothing between them, and say kMixed.
    const TileClass answer = set.Classify(tile);
    const TileClass truth = ClassOf(set, tile);
    if (answer != TileClass::kMixed ||
        (r.exact && r.mask.terms().size() == 1)) {
      ASSERT_EQ(answer, truth);
    }
    ++seen[static_cast<int>(answer)];
  }
  for (const int count : seen) EXPECT_GT(count, 100);
}

TEST(MaskSetTest, IdsGrowWhereNoRowFalls) {
  const int64_t ids[] = {-1, 2, 2, 2, 1, 7};
  const TensorView grows(ids, {4}), falls(ids, {6});
  EXPECT_TRUE(IdsGrow(Mask::Causal()));
  EXPECT_TRUE(IdsGrow(Mask::Documents(grows, grows)));
  EXPECT_FALSE(IdsGrow(Mask::Documents(grows, falls)));
  EXPECT_FALSE(IdsGrow(Mask::Causal() & Mask::Documents(falls, grows)));
  // Each row by itself: [-1, 2, 2] and [2, 1, 7], or [2, 2] and [1, 7].
  EXPECT_FALSE(IdsGrow(Mask::Documents(grows, TensorView(ids, {2, 3}))));
  EXPECT_TRUE(IdsGrow(Mask::Documents(grows, TensorView(ids + 2, {2, 2}))));
  const Mask mask = Mask::Documents(grows, grows);
  const MaskSet set(mask, {0, 0, 4, 4, 0}, {.growing = true});
  EXPECT_EQ(set.Range({1, 4}, {0, 4}), (IndexRange{1, 4}));
  EXPECT_EQ(set.Range({0, 1}, {0, 4}), (IndexRange{0, 1}));
  EXPECT_TRUE(set.Range({0, 1}, {1, 4}).empty());
}

// Runs of a few ids, in rows that end inside a piece.
std::vector<int64_t> RunsOfIds(int64_t count, Random& random) {
  std::vector<int64_t> ids;
  const int64_t longest = random.Below(2) == 0 ? 5 : 150;
  while (static_cast<int64_t>(ids.size()) < count) {
    ids.insert(ids.end(), static_cast<size_t>(1 + random.Below(longest)),
               (random.Below(7) - 3) * (kMax / 3));
  }
  ids.resize(static_cast<size_t>(count));
  return ids;
}

// Pieces change no answer, of several masks in one, and of several rows.
TEST(MaskSetTest, PiecesOfDocuments) {
  Random random(8);
  for (int round = 0; round < 1000; ++round) {
    const int64_t queries = 1 + random.Below(300);
    const int64_t keys = 1 + random.Below(300);
    std::vector<int64_t> lists[4];
    for (auto& list : lists) list = RunsOfIds(600, random);
    const Mask mask = Mask::Documents(TensorView(lists[0].data(), {2, queries}),
                                      TensorView(lists[1].data(), {keys})) &
                      Mask::Causal() &
                      Mask::Documents(TensorView(lists[2].data(), {queries}),
                                      TensorView(lists[3].data(), {2, keys}));
    std::vector<IdRange> pieces(static_cast<size_t>(PiecesOf(mask)));
    EXPECT_EQ(PiecesOf(mask, queries, keys), PiecesOf(mask));
    FillPieces(mask, pieces.data());
    const MaskFrame frame = {random.Below(2), 0, queries, keys, keys};
    const MaskSet plain(mask, frame);
    const MaskSet indexed(mask, frame, {false, pieces.data()});
    for (int i = 0; i < 20; ++i) {
      const int64_t q0 = random.Below(queries), k0 = random.Below(keys);
      const IndexRange q = {q0, q0 + 1 + random.Below(queries - q0)};
      const IndexRange k = {k0, k0 + 1 + random.Below(keys - k0)};
      ASSERT_EQ(indexed.Range(q, k), plain.Range(q, k));
      ASSERT_EQ(indexed.Classify({q, k}), plain.Classify({q, k}));
    }
  }
}

// Ids that a piece tells of are not read.
TEST(MaskSetTest, PiecesOfDocumentsSaveReading) {
  const std::vector<int32_t> ids(256, 7);
  const TensorView list(ids.data(), {256});
  const Mask mask = Mask::Documents(list, list);
  std::vector<IdRange> pieces(8, IdRange{7, 7});
  pieces[4] = pieces[7] = {1, 2};  // as if the first and last keys had others
  const MaskSet set(mask, {0, 0, 256, 256, 0}, {false, pieces.data()});
  EXPECT_EQ(set.Range({0, 256}, {0, 256}), (IndexRange{64, 192}));
  pieces[2] = {9, 9};
  EXPECT_TRUE(set.Range({128, 192}, {64, 192}).empty());
  EXPECT_EQ(set.Classify({{128, 192}, {64, 192}}), TileClass::kEmpty);
}

TEST(MaskSetTest, ExtremeOffsetsAndWindowsDoNotWrap) {
  for (const int64_t offset : {-kMaxOffset, int64_t{0}, kMaxOffset}) {
    for (const int64_t width : {int64_t{1}, kMax - 1, kMax}) {
      const Mask mask = Mask::Causal() & Mask::Window(width, width);
      const MaskSet set(mask, {0, 0, 4, 5, offset});
      for (int64_t q = 0; q < 4; ++q) {
        const IndexRange range = set.Range({q, q + 1}, {0, 5});
        for (int64_t k = 0; k < 5; ++k) {
          const Wide position = static_cast<Wide>(q) + offset;
          const bool visible = k <= position && position - k < width;
          EXPECT_EQ(set.Allows(q, k), visible) << offset << " " << width;
          EXPECT_EQ(k >= range.begin && k < range.end, visible);
        }
      }
    }
  }
}

TEST(MaskSetTest, NoChunkHoldsPositionsOnBothSidesOfZero) {
  const Mask mask = Mask::Chunk(4);
  const MaskSet set(mask, {0, 0, 6, 8, -3});
  EXPECT_FALSE(set.Allows(0, 0));
  EXPECT_FALSE(set.Allows(2, 0));
  EXPECT_TRUE(set.Allows(3, 0));
  EXPECT_TRUE(set.Allows(3, 3));
  EXPECT_FALSE(set.Allows(3, 4));
}

TEST(MaskSetTest, WholeBytesOfBits) {
  const uint8_t bytes[] = {0xF8, 0xFF, 0xFE};
  const Mask mask = Mask::Bits(TensorView(bytes, {1, 3}));
  const MaskSet set(mask, {0, 0, 1, 24, 0});
  EXPECT_EQ(set.Classify({{0, 1}, {3, 16}}), TileClass::kFull);
  EXPECT_EQ(set.Classify({{0, 1}, {3, 24}}), TileClass::kMixed);
  EXPECT_EQ(set.Classify({{0, 1}, {0, 3}}), TileClass::kEmpty);
  EXPECT_EQ(set.Classify({{0, 1}, {2, 16}}), TileClass::kMixed);
}

// mlx#2894, pytorch#187227: a mask of more than 2^31 and 2^32 elements. Only
// the last rows are touched, so that the memory behind it is a few pages.
TEST(MaskSetTest, OffsetsPastTwoToThe32) {
  constexpr int64_t kLength = 65537;
  constexpr size_t kBytes = static_cast<size_t>(kLength * kLength);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  uint8_t* bytes = static_cast<uint8_t*>(memory);
  bytes[kBytes - 1] = 1;
  bytes[kBytes - 1 - kLength] = 1;
  const Mask mask =
      Mask::Boolean(TensorView(bytes, DType::kU8, {kLength, kLength}));
  const MaskSet set(mask, {0, 0, kLength, kLength, 0});
  EXPECT_TRUE(set.Allows(kLength - 1, kLength - 1));
  EXPECT_TRUE(set.Allows(kLength - 2, kLength - 1));
  EXPECT_FALSE(set.Allows(kLength - 1, kLength - 2));
  const ScoreTile last = {{kLength - 2, kLength}, {kLength - 1, kLength}};
  EXPECT_EQ(set.Classify(last), TileClass::kFull);
  EXPECT_TRUE(RowIsRight(set, kLength - 1, {kLength - 2, kLength}));
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace regard::inline v0
