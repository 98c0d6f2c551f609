#include "tests/support/attention_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "tests/support/plain_attention.h"

namespace regard::inline v0 {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Half of a checkerboard, the other one for the next head, up to a diagonal.
class Checkerboard : public MaskFunction {
 public:
  bool Allows(const MaskFrame& frame, int64_t query,
              int64_t key) const noexcept override {
    return (query + key + frame.head) % 2 == 0 && key < query + 40;
  }
  IndexRange Range(const MaskFrame&, IndexRange queries,
                   IndexRange keys) const noexcept override {
    return keys & IndexRange{0, queries.end + 39};
  }
};

// Around vector widths (4, 8, 16), strips (4, 6, 12), panels and blocks.
constexpr int64_t kShort[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  11,
                              12, 13, 15, 16, 17, 19, 23, 24, 25, 31, 32,
                              33, 35, 47, 48, 49, 63, 64, 65, 67};
constexpr int64_t kLong[] = {127, 129, 191, 192, 193, 195, 255,
                             256, 257, 511, 512, 513, 515, 1027};
constexpr int64_t kHeadSizes[] = {1,  3,  7,   8,   16,  40,  59,  64,
                                  80, 96, 112, 128, 160, 192, 256, 576};

// A shape that broadcasts to `full`.
Dims BroadcastShape(const Dims& full, Random& random) {
  Dims shape;
  for (int i = static_cast<int>(random.Below(5)); i < 4; ++i) {
    shape.push_back(random.Chance(3) ? 1 : full[i]);
  }
  return shape;
}

std::vector<int64_t> RandomLengths(int64_t batch, int64_t limit,
                                   Random& random) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < batch; ++b) {
    lengths.push_back(random.Below(limit + 1));
  }
  return lengths;
}

std::optional<int64_t> MaybeBelow(int64_t n, int64_t from, Random& random) {
  if (random.Chance(4)) return std::nullopt;
  return from + random.Below(n);
}

// Few ids, so that they come again; in order three times of four.
std::vector<int64_t> RandomIds(int64_t count, Random& random) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  for (int64_t& id : ids) id = random.Below(3);
  if (!random.Chance(4)) std::sort(ids.begin(), ids.end());
  return ids;
}

template <typename Value>
void Fill(GuardedArray& array, const Value& value) {
  for (int64_t i = 0; i < array.view().NumElements(); ++i) {
    array.Set(i, value());
  }
}

}  // namespace

AttentionCase::AttentionCase(const CaseRequest& request) {
  Draws draws(request);
  n_ = DrawSizes(draws);
  DrawArrays(request, draws);
  description_ = "seed " + std::to_string(request.seed) + " q " +
                 ToString(problem_.q.shape) + " k " +
                 ToString(problem_.k.shape) + " v " +
                 ToString(problem_.v.shape);
  DrawScale(draws);
  DrawPosition(draws);
  DrawRanges(draws);
  DrawDocuments(draws);
  DrawBlocks(draws);
  DrawBits(draws);
  if (draws.more.Chance(8)) {
    Hide(Mask::Custom(std::make_shared<Checkerboard>()), "custom");
  }
  DrawBoolean(draws);
  DrawBias(draws);
  DrawNumbersOfHeads(draws);
  DrawDropout(request.seed, draws);
  if (request.poison_hidden) PoisonHidden();
}

AttentionCase::Sizes AttentionCase::DrawSizes(Draws& draws) {
  Random& random = draws.main;
  Sizes n;
  n.depth = random.Of(kHeadSizes);
  n.value_size = random.Chance(2) ? n.depth : random.Of(kHeadSizes);
  const bool large = random.Chance(6) || n.depth + n.value_size > 200;
  n.batch = large ? 1 : 1 + random.Below(3);
  n.kv_heads = large ? 1 : 1 + random.Below(2);
  n.heads = n.kv_heads * (1 + random.Below(large ? 2 : 3));
  n.queries = random.Of(kShort);
  n.keys = random.Chance(3) ? n.queries
           : large          ? random.Of(kLong)
                            : random.Of(kShort);
  return n;
}

void AttentionCase::DrawArrays(const CaseRequest& request, Draws& draws) {
  Random& random = draws.main;
  q_ = GuardedArray(request.dtype, {n_.batch, n_.heads, n_.queries, n_.depth},
                    draws.NextLayout());
  k_ = GuardedArray(request.k, {n_.batch, n_.kv_heads, n_.keys, n_.depth},
                    draws.NextLayout());
  v_ = GuardedArray(request.v, {n_.batch, n_.kv_heads, n_.keys, n_.value_size},
                    draws.NextLayout());
  const double q_scale = random.Chance(5) ? 30 : 1;  // also peaked rows
  Fill(q_, [&] {
    return static_cast<double>(static_cast<float>(q_scale * random.Normal()));
  });
  Fill(k_, [&] { return random.Normal(); });
  Fill(v_, [&] {
    const double value = random.Normal();
    largest_value_ = std::max(largest_value_, std::fabs(value));
    return value;
  });
  problem_.q = q_.view();
  problem_.k = k_.view();
  problem_.v = v_.view();
}

void AttentionCase::DrawScale(Draws& draws) {
  Random& random = draws.main;
  if (random.Chance(3)) {
    constexpr double kScales[] = {0, -0.25, 0.1, 1};
    problem_.scale = kScales[static_cast<size_t>(random.Below(4))];
    description_ += " scale " + std::to_string(*problem_.scale);
  }
  if (random.Chance(4)) {
    problem_.softcap = 5;
    description_ += " softcap 5";
  }
}

void AttentionCase::DrawPosition(Draws& draws) {
  switch (draws.main.Below(4)) {
    case 0:
      problem_.query_offset = QueryOffset::BottomRight();
      description_ += " bottom-right";
      break;
    case 1:
      problem_.query_offset =
          QueryOffset::At(draws.main.Below(2 * n_.keys + 3) - n_.keys - 1);
      description_ += " offset " + std::to_string(problem_.query_offset->value);
      break;
    default:
      problem_.query_offset = QueryOffset::TopLeft();
  }
}

void AttentionCase::Hide(const Mask& mask, const std::string& name) {
  problem_.mask = problem_.mask & mask;
  description_ += " " + name;
}

void AttentionCase::DrawRanges(Draws& draws) {
  Random &random = draws.main, &more = draws.more;
  const int64_t n = n_.keys + 2;
  if (random.Chance(2)) Hide(Mask::Causal(), "causal");
  if (random.Chance(3)) {
    const auto left = MaybeBelow(n, 1, random);
    const auto right = MaybeBelow(n, 0, random);
    const int64_t first_keys = more.Chance(2) ? more.Below(n) : 0;
    Hide(Mask::Window(left, right, first_keys), "window");
  }
  if (random.Chance(3)) {
    std::vector<int64_t> queries, keys;
    if (random.Chance(2)) queries = RandomLengths(n_.batch, n_.queries, random);
    if (random.Chance(2)) keys = RandomLengths(n_.batch, n_.keys, random);
    Hide(Mask::Lengths(queries, keys), "lengths");
  }
  if (more.Chance(6)) Hide(Mask::Prefix(more.Below(n)), "prefix");
  if (more.Chance(6)) Hide(Mask::Chunk(1 + more.Below(n)), "chunk");
}

void AttentionCase::DrawDocuments(Draws& draws) {
  if (!draws.more.Chance(6)) return;
  query_ids_ = RandomIds(n_.queries, draws.more);
  key_ids_ = RandomIds(n_.batch * n_.keys, draws.more);
  Hide(Mask::Documents(TensorView(query_ids_.data(), {n_.queries}),
                       TensorView(key_ids_.data(), {n_.batch, n_.keys})),
       "documents");
}

void AttentionCase::DrawBlocks(Draws& draws) {
  Random& more = draws.more;
  if (!more.Chance(6)) return;
  const int64_t rows = 1 + more.Below(n_.queries + 2);
  const int64_t columns = 1 + more.Below(n_.keys + 2);
  const Dims shape = {
      more.Chance(2) ? 1 : n_.batch, more.Chance(2) ? 1 : n_.heads,
      (n_.queries + rows - 1) / rows, (n_.keys + columns - 1) / columns};
  layout_ = GuardedArray(DType::kU8, shape, draws.NextLayout());
  Fill(layout_, [&] { return more.Chance(2) ? 0 : 1; });
  Hide(Mask::BlockSparse(layout_.view(), rows, columns),
       "block-sparse " + ToString(shape));
}

void AttentionCase::DrawBits(Draws& draws) {
  Random& more = draws.more;
  if (!more.Chance(6)) return;
  const Dims shape = {more.Chance(2) ? 1 : n_.batch,
                      more.Chance(2) ? 1 : n_.heads,
                      more.Chance(2) ? 1 : n_.queries, (n_.keys + 7) / 8};
  bits_ = GuardedArray(DType::kU8, shape, draws.NextLayout());
  Fill(bits_, [&] {
    return static_cast<double>(more.Chance(2) ? 255 : more.Below(256));
  });
  Hide(Mask::Bits(bits_.view()), "bits " + ToString(shape));
}

void AttentionCase::DrawBoolean(Draws& draws) {
  Random& random = draws.main;
  if (!random.Chance(3)) return;
  const Dims shape = BroadcastShape(n_.full(), random);
  mask_ = GuardedArray(DType::kBool, shape, draws.NextLayout());
  const int64_t sparse = 1 + random.Below(6);
  Fill(mask_, [&] { return random.Below(sparse + 1) != 0 ? 0 : 1; });
  Hide(Mask::Boolean(mask_.view()), "boolean " + ToString(shape));
}

void AttentionCase::DrawBias(Draws& draws) {
  Random& random = draws.main;
  if (!random.Chance(3)) return;
  const DType type = random.Chance(4) ? DType::kF64 : DType::kF32;
  const Dims shape = BroadcastShape(n_.full(), random);
  bias_ = GuardedArray(type, shape, draws.NextLayout());
  Fill(bias_, [&] { return random.Chance(8) ? -kInfinity : random.Normal(); });
  problem_.bias = bias_.view();
  description_ += " bias " + ToString(shape);
}

void AttentionCase::DrawNumbersOfHeads(Draws& draws) {
  Random& more = draws.more;
  const auto per_head = [&](GuardedArray& list, const auto& value) {
    list = GuardedArray(more.Chance(3) ? DType::kF64 : DType::kF32, {n_.heads},
                        draws.NextLayout());
    Fill(list, value);
    return list.view();
  };
  if (more.Chance(4)) {
    problem_.alibi_slopes = per_head(slopes_, [&] {
      return std::ldexp(1 + static_cast<double>(more.Below(8)) / 8,
                        -1 - static_cast<int>(more.Below(9)));
    });
    description_ += " alibi";
  }
  if (more.Chance(4)) {
    problem_.sink_logit = per_head(sinks_, [&] {
      return more.Chance(4) ? -kInfinity : 3 * more.Normal();
    });
    description_ += " sink";
  }
}

void AttentionCase::DrawDropout(uint64_t seed, Draws& draws) {
  Random& most = draws.most;
  if (!most.Chance(5)) return;
  Dropout dropout;
  dropout.p = static_cast<double>(most.Below(8)) / 8;
  dropout.seed = (uint64_t{most.Chance(2)} << 32) + seed;
  for (int64_t b = 0; b < n_.batch && seed % 2 == 0; ++b) {
    dropout.sequence_ids.push_back(most.Below(int64_t{1} << 32));
  }
  problem_.dropout = dropout;
  largest_value_ /= 1 - dropout.p;
  description_ += " dropout " + std::to_string(dropout.p);
}

bool AttentionCase::IsSeen(int64_t b, int64_t kv_head, int64_t key) const {
  const int64_t group = n_.heads / n_.kv_heads;
  for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (int64_t i = 0; i < n_.queries; ++i) {
      if (Visible(problem_, b, h, i, key)) return true;
    }
  }
  return false;
}

// What keys hold that nobody sees must not matter.
void AttentionCase::PoisonHidden() {
  constexpr double kPoison[] = {std::numeric_limits<double>::quiet_NaN(),
                                kInfinity, -kInfinity};
  for (int64_t row = 0; row < n_.batch * n_.kv_heads * n_.keys; ++row) {
    const int64_t key = row % n_.keys, head = row / n_.keys;
    if (IsSeen(head / n_.kv_heads, head % n_.kv_heads, key)) continue;
    const double poison = kPoison[static_cast<size_t>(key % 3)];
    for (int64_t d = 0; d < n_.depth; ++d) k_.Set(row * n_.depth + d, poison);
    for (int64_t e = 0; e < n_.value_size; ++e) {
      v_.Set(row * n_.value_size + e, poison);
    }
  }
}

bool AttentionCase::GuardsIntact() const {
  return q_.GuardsIntact() && k_.GuardsIntact() && v_.GuardsIntact() &&
         bias_.GuardsIntact() && mask_.GuardsIntact() &&
         layout_.GuardsIntact() && bits_.GuardsIntact() &&
         slopes_.GuardsIntact() && sinks_.GuardsIntact();
}

}  // namespace regard::inline v0
