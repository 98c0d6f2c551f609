#include "tests/support/attention_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "tensor/convert.h"

namespace regard::inline v0 {

namespace {

constexpr int64_t kGuard = 37;  // elements; odd, so that nothing is aligned

// Strides of `shape` in the layout, for a buffer of non-negative offsets;
// `span` is its length.
Dims StridesFor(const Dims& shape, Layout layout, int64_t& span) {
  Dims order;  // axes, innermost first
  for (int i = shape.size() - 1; i >= 0; --i) order.push_back(i);
  if (layout == Layout::kHeadsInside && shape.size() == 4) {
    std::swap(order[1], order[2]);
  }
  Dims strides = shape;
  int64_t stride = layout == Layout::kEverySecond ? 2 : 1;
  for (int i = 0; i < order.size(); ++i) {
    const int axis = static_cast<int>(order[i]);
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
    if (i == 0 && layout == Layout::kPaddedRows) stride += 3;
  }
  span = stride;
  return strides;
}

}  // namespace

GuardedArray::GuardedArray(DType dtype, const Dims& shape, Layout layout) {
  int64_t span = 0;
  Dims strides = StridesFor(shape, layout, span);
  const size_t item = ItemSize(dtype);
  memory_.assign(static_cast<size_t>(span + 2 * kGuard) * item, 0xA5);
  int64_t first = kGuard;
  if (layout == Layout::kReversed && shape.size() >= 2 &&
      NumElements(shape) > 0) {
    const int axis = shape.size() - 2;
    first += (shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  view_ = MutableTensorView(memory_.data() + static_cast<size_t>(first) * item,
                            dtype, shape, strides);
  for (size_t at = 0; at < memory_.size(); at += item) {
    if (dtype == DType::kF32) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(memory_.data() + at, &nan, item);
    } else if (dtype == DType::kF64) {
      const double nan = std::numeric_limits<double>::quiet_NaN();
      std::memcpy(memory_.data() + at, &nan, item);
    } else if (dtype == DType::kBF16 || dtype == DType::kF16) {
      const uint16_t nan = 0x7FFF;
      std::memcpy(memory_.data() + at, &nan, item);
    }
  }
  untouched_ = memory_;
}

size_t GuardedArray::ByteOf(int64_t i) const {
  int64_t at = 0;
  for (int axis = view_.rank() - 1; axis >= 0; --axis) {
    at += i % view_.shape[axis] * view_.strides[axis];
    i /= view_.shape[axis];
  }
  const auto* base = static_cast<const unsigned char*>(view_.data);
  return static_cast<size_t>(base - memory_.data() +
                             at * static_cast<int64_t>(ItemSize(view_.dtype)));
}

void GuardedArray::Set(int64_t i, double value) {
  unsigned char* at = memory_.data() + ByteOf(i);
  if (view_.dtype == DType::kF32) {
    const float narrow = static_cast<float>(value);
    std::memcpy(at, &narrow, sizeof(narrow));
  } else if (view_.dtype == DType::kF64) {
    std::memcpy(at, &value, sizeof(value));
  } else if (view_.dtype == DType::kBF16 || view_.dtype == DType::kF16) {
    const float wide = static_cast<float>(value);
    const uint16_t half =
        view_.dtype == DType::kBF16 ? BF16FromF32(wide) : F16FromF32(wide);
    std::memcpy(at, &half, sizeof(half));
  } else {
    *at = static_cast<unsigned char>(value);
  }
}

double GuardedArray::Get(int64_t i) const {
  const unsigned char* at = memory_.data() + ByteOf(i);
  if (view_.dtype == DType::kF32) {
    float narrow;
    std::memcpy(&narrow, at, sizeof(narrow));
    return static_cast<double>(narrow);
  }
  if (view_.dtype == DType::kF64) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (view_.dtype == DType::kBF16 || view_.dtype == DType::kF16) {
    uint16_t half;
    std::memcpy(&half, at, sizeof(half));
    return static_cast<double>(view_.dtype == DType::kBF16 ? F32FromBF16(half)
                                                           : F32FromF16(half));
  }
  return *at;
}

bool GuardedArray::GuardsIntact() const {
  if (memory_.empty()) return true;  // not used
  std::vector<unsigned char> outside = memory_;
  const size_t item = ItemSize(view_.dtype);
  for (int64_t i = 0; i < view_.NumElements(); ++i) {
    const size_t at = ByteOf(i);
    std::memcpy(outside.data() + at, untouched_.data() + at, item);
  }
  return outside == untouched_;
}

namespace {

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

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n));
  }
  bool Chance(int64_t n) { return Below(n) == 0; }
  template <size_t n>
  int64_t Of(const int64_t (&list)[n]) {
    return list[static_cast<size_t>(Below(n))];
  }
  // A float near the normal distribution (a sum of four uniforms).
  double Normal() {
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(Below(1 << 20));
    return static_cast<double>(
        static_cast<float>((sum / (1 << 20) - 2) * 1.7320508));
  }

 private:
  std::mt19937_64 engine_;
};

// Around vector widths (4, 8, 16), strips (4, 6, 12), panels and blocks.
constexpr int64_t kShort[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  11,
                              12, 13, 15, 16, 17, 19, 23, 24, 25, 31, 32,
                              33, 35, 47, 48, 49, 63, 64, 65, 67};
constexpr int64_t kLong[] = {95,  96,  97,  127, 129, 195, 255,
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

}  // namespace

AttentionCase::AttentionCase(const CaseRequest& request) {
  Random random(request.seed);
  Random layouts(request.seed + 1000);
  Random more(request.seed + 2000);
  Random most(request.seed + 3000);
  const auto layout = [&] {
    return request.odd_layouts ? static_cast<Layout>(layouts.Below(kLayouts))
                               : Layout::kContiguous;
  };

  const int64_t depth = random.Of(kHeadSizes);
  const int64_t value_size = random.Chance(2) ? depth : random.Of(kHeadSizes);
  const bool large = random.Chance(6) || depth + value_size > 200;
  const int64_t batch = large ? 1 : 1 + random.Below(3);
  const int64_t kv_heads = large ? 1 : 1 + random.Below(2);
  const int64_t heads = kv_heads * (1 + random.Below(large ? 2 : 3));
  const int64_t queries = random.Of(kShort);
  const int64_t keys = random.Chance(3) ? queries
                       : large          ? random.Of(kLong)
                                        : random.Of(kShort);

  q_ = GuardedArray(request.dtype, {batch, heads, queries, depth}, layout());
  k_ = GuardedArray(request.k, {batch, kv_heads, keys, depth}, layout());
  v_ = GuardedArray(request.v, {batch, kv_heads, keys, value_size}, layout());
  const double q_scale = random.Chance(5) ? 30 : 1;  // also peaked rows
  for (int64_t i = 0; i < q_.view().NumElements(); ++i) {
    q_.Set(i,
           static_cast<double>(static_cast<float>(q_scale * random.Normal())));
  }
  for (int64_t i = 0; i < k_.view().NumElements(); ++i) {
    k_.Set(i, random.Normal());
  }
  for (int64_t i = 0; i < v_.view().NumElements(); ++i) {
    const double value = random.Normal();
    largest_value_ = std::max(largest_value_, std::fabs(value));
    v_.Set(i, value);
  }
  problem_.q = q_.view();
  problem_.k = k_.view();
  problem_.v = v_.view();

  description_ = "seed " + std::to_string(request.seed) + " q " +
                 ToString(problem_.q.shape) + " k " +
                 ToString(problem_.k.shape) + " v " +
                 ToString(problem_.v.shape);

  if (random.Chance(3)) {
    constexpr double kScales[] = {0, -0.25, 0.1, 1};
    problem_.scale = kScales[static_cast<size_t>(random.Below(4))];
    description_ += " scale " + std::to_string(*problem_.scale);
  }
  if (random.Chance(4)) {
    problem_.softcap = 5;
    description_ += " softcap 5";
  }
  switch (random.Below(4)) {
    case 0:
      problem_.query_offset = QueryOffset::BottomRight();
      description_ += " bottom-right";
      break;
    case 1:
      problem_.query_offset =
          QueryOffset::At(random.Below(2 * keys + 3) - keys - 1);
      description_ += " offset " + std::to_string(problem_.query_offset->value);
      break;
    default:
      problem_.query_offset = QueryOffset::TopLeft();
  }
  if (random.Chance(2)) {
    problem_.mask = problem_.mask & Mask::Causal();
    description_ += " causal";
  }
  if (random.Chance(3)) {
    const auto left = MaybeBelow(keys + 2, 1, random);
    const auto right = MaybeBelow(keys + 2, 0, random);
    const int64_t first_keys = more.Chance(2) ? more.Below(keys + 2) : 0;
    problem_.mask = problem_.mask & Mask::Window(left, right, first_keys);
    description_ += " window";
  }
  if (random.Chance(3)) {
    std::vector<int64_t> query_lengths, key_lengths;
    if (random.Chance(2)) query_lengths = RandomLengths(batch, queries, random);
    if (random.Chance(2)) key_lengths = RandomLengths(batch, keys, random);
    problem_.mask = problem_.mask & Mask::Lengths(query_lengths, key_lengths);
    description_ += " lengths";
  }
  if (more.Chance(6)) {
    problem_.mask = problem_.mask & Mask::Prefix(more.Below(keys + 2));
    description_ += " prefix";
  }
  if (more.Chance(6)) {
    problem_.mask = problem_.mask & Mask::Chunk(1 + more.Below(keys + 2));
    description_ += " chunk";
  }
  const Dims full = {batch, heads, queries, keys};
  if (more.Chance(6)) {
    const auto ids = [&](int64_t count) {
      std::vector<int64_t> list(static_cast<size_t>(count));
      for (int64_t& id : list) id = more.Below(3);
      if (!more.Chance(4)) std::sort(list.begin(), list.end());
      return list;
    };
    query_ids_ = ids(queries);
    key_ids_ = ids(batch * keys);
    problem_.mask = problem_.mask &
                    Mask::Documents(TensorView(query_ids_.data(), {queries}),
                                    TensorView(key_ids_.data(), {batch, keys}));
    description_ += " documents";
  }
  if (more.Chance(6)) {
    const int64_t rows = 1 + more.Below(queries + 2);
    const int64_t columns = 1 + more.Below(keys + 2);
    layout_ = GuardedArray(
        DType::kU8,
        {more.Chance(2) ? 1 : batch, more.Chance(2) ? 1 : heads,
         (queries + rows - 1) / rows, (keys + columns - 1) / columns},
        layout());
    for (int64_t i = 0; i < layout_.view().NumElements(); ++i) {
      layout_.Set(i, more.Chance(2) ? 0 : 1);
    }
    problem_.mask =
        problem_.mask & Mask::BlockSparse(layout_.view(), rows, columns);
    description_ += " block-sparse " + ToString(layout_.view().shape);
  }
  if (more.Chance(6)) {
    bits_ =
        GuardedArray(DType::kU8,
                     {more.Chance(2) ? 1 : batch, more.Chance(2) ? 1 : heads,
                      more.Chance(2) ? 1 : queries, (keys + 7) / 8},
                     layout());
    for (int64_t i = 0; i < bits_.view().NumElements(); ++i) {
      bits_.Set(i, static_cast<double>(more.Chance(2) ? 255 : more.Below(256)));
    }
    problem_.mask = problem_.mask & Mask::Bits(bits_.view());
    description_ += " bits " + ToString(bits_.view().shape);
  }
  if (more.Chance(8)) {
    problem_.mask =
        problem_.mask & Mask::Custom(std::make_shared<Checkerboard>());
    description_ += " custom";
  }
  if (random.Chance(3)) {
    mask_ = GuardedArray(DType::kBool, BroadcastShape(full, random), layout());
    const int64_t sparse = 1 + random.Below(6);
    for (int64_t i = 0; i < mask_.view().NumElements(); ++i) {
      mask_.Set(i, random.Below(sparse + 1) != 0 ? 0 : 1);
    }
    problem_.mask = problem_.mask & Mask::Boolean(mask_.view());
    description_ += " boolean " + ToString(mask_.view().shape);
  }
  if (random.Chance(3)) {
    const DType type = random.Chance(4) ? DType::kF64 : DType::kF32;
    bias_ = GuardedArray(type, BroadcastShape(full, random), layout());
    for (int64_t i = 0; i < bias_.view().NumElements(); ++i) {
      bias_.Set(i, random.Chance(8) ? -std::numeric_limits<double>::infinity()
                                    : random.Normal());
    }
    problem_.bias = bias_.view();
    description_ += " bias " + ToString(bias_.view().shape);
  }

  const auto per_head = [&](GuardedArray& list, const auto& value) {
    list = GuardedArray(more.Chance(3) ? DType::kF64 : DType::kF32, {heads},
                        layout());
    for (int64_t h = 0; h < heads; ++h) list.Set(h, value());
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
      return more.Chance(4) ? -std::numeric_limits<double>::infinity()
                            : 3 * more.Normal();
    });
    description_ += " sink";
  }

  if (most.Chance(5)) {
    Dropout dropout;
    dropout.p = static_cast<double>(most.Below(8)) / 8;
    dropout.seed = (uint64_t{most.Chance(2)} << 32) + request.seed;
    for (int64_t b = 0; b < batch && request.seed % 2 == 0; ++b) {
      dropout.sequence_ids.push_back(most.Below(int64_t{1} << 32));
    }
    problem_.dropout = dropout;
    largest_value_ /= 1 - dropout.p;
    description_ += " dropout " + std::to_string(dropout.p);
  }

  // Keys that nobody sees: their contents must not matter.
  if (!request.poison_hidden) return;
  constexpr double kPoison[] = {std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity()};
  const int64_t group = heads / kv_heads;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < kv_heads; ++h) {
      for (int64_t j = 0; j < keys; ++j) {
        bool seen = false;
        for (int64_t g = h * group; g < (h + 1) * group && !seen; ++g) {
          for (int64_t i = 0; i < queries && !seen; ++i) {
            seen = Visible(problem_, b, g, i, j);
          }
        }
        if (seen) continue;
        const double poison = kPoison[static_cast<size_t>(j % 3)];
        const int64_t row = (b * kv_heads + h) * keys + j;
        for (int64_t d = 0; d < depth; ++d) k_.Set(row * depth + d, poison);
        for (int64_t e = 0; e < value_size; ++e) {
          v_.Set(row * value_size + e, poison);
        }
      }
    }
  }
}

bool AttentionCase::GuardsIntact() const {
  return q_.GuardsIntact() && k_.GuardsIntact() && v_.GuardsIntact() &&
         bias_.GuardsIntact() && mask_.GuardsIntact() &&
         layout_.GuardsIntact() && bits_.GuardsIntact() &&
         slopes_.GuardsIntact() && sinks_.GuardsIntact();
}

namespace {

double NumberAt(const TensorView& view, int64_t at) {
  switch (view.dtype) {
    case DType::kF64:
      return view.As<double>()[at];
    case DType::kF32:
      return static_cast<double>(view.As<float>()[at]);
    case DType::kBF16:
      return static_cast<double>(
          F32FromBF16(static_cast<const uint16_t*>(view.data)[at]));
    case DType::kF16:
      return static_cast<double>(
          F32FromF16(static_cast<const uint16_t*>(view.data)[at]));
    default:
      return static_cast<const uint8_t*>(view.data)[at];
  }
}

// Element [b, h, i, j] of an array that broadcasts.
double BroadcastElement(const TensorView& view, int64_t b, int64_t h, int64_t i,
                        int64_t j) {
  const int64_t index[] = {b, h, i, j};
  int64_t at = 0;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.shape[axis] == 1) continue;
    at += index[4 - view.rank() + axis] * view.strides[axis];
  }
  return NumberAt(view, at);
}

// The lengths of batch entry b.
void RealLengths(const AttentionProblem& p, int64_t b, int64_t& queries,
                 int64_t& keys) {
  queries = p.q.shape[2];
  keys = p.k.shape[2];
  for (const MaskTerm& term : p.mask.terms()) {
    if (const auto* lengths = std::get_if<LengthsMask>(&term)) {
      const size_t at = static_cast<size_t>(b);
      if (!lengths->query.empty()) {
        queries = std::min(queries, lengths->query[at]);
      }
      if (!lengths->key.empty()) keys = std::min(keys, lengths->key[at]);
    }
  }
}

// Where query i stands among the keys.
int64_t PositionOf(const AttentionProblem& p, int64_t b, int64_t i) {
  if (!p.query_offset) return i;
  if (p.query_offset->kind == QueryOffset::Kind::kExplicit) {
    return i + p.query_offset->value;
  }
  if (p.query_offset->kind == QueryOffset::Kind::kTopLeft) return i;
  int64_t queries, keys;
  RealLengths(p, b, queries, keys);
  return i + keys - queries;
}

}  // namespace

bool Visible(const AttentionProblem& p, int64_t b, int64_t h, int64_t i,
             int64_t j) {
  int64_t queries, keys;
  RealLengths(p, b, queries, keys);
  if (i >= queries || j >= keys) return false;
  const int64_t position = PositionOf(p, b, i);
  for (const MaskTerm& term : p.mask.terms()) {
    if (std::holds_alternative<CausalMask>(term) && j > position) return false;
    if (const auto* prefix = std::get_if<PrefixMask>(&term)) {
      if (j >= prefix->keys && j > position) return false;
    }
    if (const auto* chunk = std::get_if<ChunkMask>(&term)) {
      if (position < 0 || position / chunk->size != j / chunk->size) {
        return false;
      }
    }
    if (const auto* window = std::get_if<WindowMask>(&term)) {
      if (window->left && position - j >= *window->left &&
          j >= window->first_keys) {
        return false;
      }
      if (window->right && j - position > *window->right) return false;
    }
    if (const auto* documents = std::get_if<DocumentMask>(&term)) {
      const auto id = [&](const TensorView& ids, int64_t at) {
        const int64_t entry = ids.rank() == 2 && ids.shape[0] != 1 ? b : 0;
        return ids.As<int64_t>()[entry * ids.shape.Back(0) + at];
      };
      if (id(documents->query, i) != id(documents->key, j)) return false;
    }
    if (const auto* sparse = std::get_if<BlockSparseMask>(&term)) {
      if (BroadcastElement(sparse->layout, b, h, i / sparse->query_block,
                           j / sparse->key_block) == 0) {
        return false;
      }
    }
    if (const auto* bits = std::get_if<BitMask>(&term)) {
      const int byte =
          static_cast<int>(BroadcastElement(bits->bytes, b, h, i, j / 8));
      if ((byte >> (j % 8) & 1) == 0) return false;
    }
    if (const auto* custom = std::get_if<CustomMask>(&term)) {
      const MaskFrame frame = {b, h, p.q.shape[2], p.k.shape[2], position - i};
      if (!custom->function->Allows(frame, i, j)) return false;
    }
    if (const auto* boolean = std::get_if<BooleanMask>(&term)) {
      if (BroadcastElement(boolean->allowed, b, h, i, j) == 0) return false;
    }
  }
  return true;
}

namespace {

// Word `index` of Philox4x32-10, by the paper.
uint32_t Word(uint64_t seed, std::array<uint64_t, 4> x, int64_t index) {
  uint64_t k0 = seed & 0xFFFFFFFF, k1 = seed >> 32;
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53 * x[0], b = 0xCD9E8D57 * x[2];
    x = {(b >> 32) ^ x[1] ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ x[3] ^ k1,
         a & 0xFFFFFFFF};
    k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF;
    k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF;
  }
  return static_cast<uint32_t>(x[static_cast<size_t>(index)]);
}

}  // namespace

bool IsKept(const AttentionProblem& p, int64_t b, int64_t h, int64_t i,
            int64_t j) {
  if (!p.dropout) return true;
  const std::vector<int64_t>& ids = p.dropout->sequence_ids;
  const auto as_word = [](int64_t x) { return static_cast<uint64_t>(x); };
  const int64_t id = ids.empty() ? b : ids[static_cast<size_t>(b)];
  const uint32_t word =
      Word(p.dropout->seed,
           {as_word(j / 4), as_word(i), as_word(h), as_word(id)}, j % 4);
  return static_cast<double>(word) >= std::floor(p.dropout->p * 0x1p32);
}

namespace {

template <typename T>
T Element(const TensorView& view, int64_t b, int64_t h, int64_t i, int64_t d) {
  const int64_t at = b * view.strides[0] + h * view.strides[1] +
                     i * view.strides[2] + d * view.strides[3];
  return static_cast<T>(NumberAt(view, at));
}

// Position i of the order's permutation of [0, count).
int64_t Permuted(int64_t i, int64_t count, Order order) {
  if (order == Order::kForward) return i;
  if (order == Order::kBackward) return count - 1 - i;
  // A step without a common divisor comes by everywhere.
  const int64_t seed = static_cast<int64_t>(order) * 7919;
  int64_t step = seed % count + 1;
  while (std::gcd(step, count) != 1) ++step;
  return (seed + i * step) % count;
}

// From kShuffled on, every second pair of orders rounds a product and its
// addition once, as matrix libraries do where there is such an instruction.
bool IsFused(Order order) {
  return order >= Order::kShuffled && static_cast<int64_t>(order) / 2 % 2 == 1;
}

// The sum of left(i) * right(i) for i in [0, count), in T.
template <typename T, typename Left, typename Right>
T SumOfProducts(int64_t count, Order order, const Left& left,
                const Right& right) {
  const bool fused = IsFused(order);
  const auto add = [&](T& sum, int64_t i) {
    sum = fused ? std::fma(left(i), right(i), sum) : sum + left(i) * right(i);
  };
  if (order == Order::kFourChains) {
    T chains[4] = {};
    for (int64_t i = 0; i < count; ++i) add(chains[i % 4], i);
    return (chains[0] + chains[1]) + (chains[2] + chains[3]);
  }
  constexpr int64_t kPiece = 128;
  T total = 0;
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    T piece = 0;
    for (int64_t i = begin; i < std::min(begin + kPiece, count); ++i) {
      add(piece, Permuted(i, count, order));
    }
    total += piece;
  }
  return total;
}

// `round` is applied to what each operation of a library returns.
template <typename T, typename Round>
AttentionResult Plain(const AttentionProblem& p, Order order,
                      const Round& round) {
  const int64_t batch = p.q.shape[0], heads = p.q.shape[1];
  const int64_t queries = p.q.shape[2], depth = p.q.shape[3];
  const int64_t kv_heads = p.k.shape[1], keys = p.k.shape[2];
  const int64_t value_size = p.v.shape[3];
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T scale = static_cast<T>(p.scale.value_or(
      depth == 0 ? 0 : 1 / std::sqrt(static_cast<double>(depth))));
  // Scaled before the product or after it: evaluations do either.
  const bool scale_q = static_cast<int64_t>(order) % 2 == 1;
  const T before = scale_q ? scale : T{1}, after = scale_q ? T{1} : scale;

  AttentionResult result;
  result.out = Tensor(DType::kF64, {batch, heads, queries, value_size});
  result.lse = Tensor(DType::kF64, {batch, heads, queries});
  result.weights = Tensor(DType::kF64, {batch, heads, queries, keys});
  std::vector<T> weights(static_cast<size_t>(keys));
  for (int64_t row = 0; row < batch * heads * queries; ++row) {
    const int64_t i = row % queries, h = row / queries % heads;
    const int64_t b = row / queries / heads;
    const int64_t kv = h / (heads / kv_heads);
    T max = -kInfinity, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      T& s = weights[static_cast<size_t>(j)];
      s = -kInfinity;
      if (!Visible(p, b, h, i, j)) continue;
      s = round(SumOfProducts<T>(
          depth, order,
          [&](int64_t d) { return before * Element<T>(p.q, b, h, i, d); },
          [&](int64_t d) { return Element<T>(p.k, b, kv, j, d); }));
      s = round(after * s);
      if (p.softcap) {
        const T cap = static_cast<T>(*p.softcap);
        s = round(cap * round(std::tanh(round(s / cap))));
      }
      if (p.bias.given()) {
        s = round(s + static_cast<T>(BroadcastElement(p.bias, b, h, i, j)));
      }
      if (p.alibi_slopes.given()) {
        s = round(s -
                  static_cast<T>(BroadcastElement(p.alibi_slopes, 0, 0, 0, h)) *
                      static_cast<T>(std::abs(PositionOf(p, b, i) - j)));
      }
      if (s > max) max = s;
    }
    for (T& s : weights) {
      s = s == -kInfinity ? 0 : std::exp(s - max);
      sum += s;
    }
    result.lse.AsMutable<double>()[row] =
        static_cast<double>(sum == 0 ? -kInfinity : max + std::log(sum));
    if (p.sink_logit.given() && sum != 0) {
      sum += std::exp(
          static_cast<T>(BroadcastElement(p.sink_logit, 0, 0, 0, h)) - max);
    }
    for (int64_t j = 0; j < keys; ++j) {
      T& weight = weights[static_cast<size_t>(j)];
      if (sum != 0) weight = round(weight / sum);
      result.weights.AsMutable<double>()[row * keys + j] =
          static_cast<double>(weight);
    }
    for (int64_t e = 0; e < value_size; ++e) {
      const auto weight = [&](int64_t j) {
        const T all = weights[static_cast<size_t>(j)];
        if (!p.dropout) return all;
        return IsKept(p, b, h, i, j) ? all / static_cast<T>(1 - p.dropout->p)
                                     : T{0};
      };
      // What has no weight may hold anything.
      const T out = SumOfProducts<T>(keys, order, weight, [&](int64_t j) {
        return weight(j) == 0 ? 0 : Element<T>(p.v, b, kv, j, e);
      });
      result.out.AsMutable<double>()[row * value_size + e] =
          static_cast<double>(round(out));
    }
  }
  return result;
}

}  // namespace

template <typename T>
AttentionResult PlainAttention(const AttentionProblem& p, Order order) {
  return Plain<T>(p, order, [](T x) { return x; });
}

AttentionResult PlainHalfAttention(const AttentionProblem& p, DType half,
                                   Order order) {
  return Plain<float>(p, order, [half](float x) {
    return half == DType::kBF16 ? F32FromBF16(BF16FromF32(x))
                                : F32FromF16(F16FromF32(x));
  });
}

template AttentionResult PlainAttention<float>(const AttentionProblem&, Order);
template AttentionResult PlainAttention<double>(const AttentionProblem&, Order);
template AttentionResult PlainAttention<long double>(const AttentionProblem&,
                                                     Order);

}  // namespace regard::inline v0
