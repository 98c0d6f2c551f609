#include "tests/support/plain_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/convert.h"
#include "tests/support/random.h"

namespace regard::inline v0 {

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

// [0, count) as the order goes through it.
std::vector<int64_t> PermutationOf(int64_t count, Order order) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  if (order == Order::kBackward) std::reverse(all.begin(), all.end());
  if (order < Order::kShuffled) return all;
  Random random(static_cast<uint64_t>(order));
  for (int64_t i = count - 1; i > 0; --i) {
    std::swap(all[static_cast<size_t>(i)],
              all[static_cast<size_t>(random.Below(i + 1))]);
  }
  return all;
}

// From kShuffled on, every second pair of orders rounds a product and its
// addition once, as matrix libraries do where there is such an instruction.
bool IsFused(Order order) {
  return order >= Order::kShuffled && static_cast<int64_t>(order) / 2 % 2 == 1;
}

// Of those, every second four add up in chains, as the lanes of vectors do.
bool HasChains(Order order) {
  return order == Order::kFourChains ||
         (order >= Order::kShuffled &&
          static_cast<int64_t>(order) / 4 % 2 == 0);
}

// The sum of left(i) * right(i) in T, for i one after the other.
template <typename T, typename Left, typename Right>
T SumOfProducts(const std::vector<int64_t>& permutation, Order order,
                const Left& left, const Right& right) {
  const bool fused = IsFused(order);
  const auto add = [&](T& sum, int64_t i) {
    sum = fused ? std::fma(left(i), right(i), sum) : sum + left(i) * right(i);
  };
  const size_t count = permutation.size();
  if (HasChains(order)) {
    T chains[4] = {};
    for (size_t i = 0; i < count; ++i) add(chains[i % 4], permutation[i]);
    return (chains[0] + chains[1]) + (chains[2] + chains[3]);
  }
  constexpr size_t kPiece = 128;
  T total = 0;
  for (size_t begin = 0; begin < count; begin += kPiece) {
    T piece = 0;
    for (size_t i = begin; i < std::min(begin + kPiece, count); ++i) {
      add(piece, permutation[i]);
    }
    total += piece;
  }
  return total;
}

template <typename T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// One query of one head.
struct Row {
  int64_t b, h, kv, i;
};

// A plain evaluation in T. `round` is applied to what each operation of a
// library returns.
template <typename T, typename Round>
class Plain {
 public:
  Plain(const AttentionProblem& problem, Order order, const Round& round)
      : p_(problem),
        order_(order),
        round_(round),
        by_depth_(PermutationOf(problem.q.shape[3], order)),
        by_key_(PermutationOf(problem.k.shape[2], order)) {
    const int64_t depth = p_.q.shape[3];
    const T scale = static_cast<T>(p_.scale.value_or(
        depth == 0 ? 0 : 1 / std::sqrt(static_cast<double>(depth))));
    // Scaled before the product or after it: evaluations do either.
    const bool scale_q = static_cast<int64_t>(order) % 2 == 1;
    before_ = scale_q ? scale : T{1};
    after_ = scale_q ? T{1} : scale;
  }

  AttentionResult Run() const {
    const int64_t batch = p_.q.shape[0], heads = p_.q.shape[1];
    const int64_t queries = p_.q.shape[2], keys = p_.k.shape[2];
    const int64_t group = heads / p_.k.shape[1], size = p_.v.shape[3];
    AttentionResult result;
    result.out = Tensor(DType::kF64, {batch, heads, queries, size});
    result.lse = Tensor(DType::kF64, {batch, heads, queries});
    result.weights = Tensor(DType::kF64, {batch, heads, queries, keys});
    std::vector<T> row(static_cast<size_t>(keys));
    for (int64_t n = 0; n < batch * heads * queries; ++n) {
      const int64_t h = n / queries % heads;
      const Row at = {n / queries / heads, h, h / group, n % queries};
      for (int64_t j = 0; j < keys; ++j) {
        row[static_cast<size_t>(j)] =
            Visible(p_, at.b, h, at.i, j) ? Score(at, j) : -kInfinity<T>;
      }
      result.lse.template AsMutable<double>()[n] = Softmax(at, row);
      double* weights = result.weights.template AsMutable<double>() + n * keys;
      for (const T weight : row) *weights++ = static_cast<double>(weight);
      double* out = result.out.template AsMutable<double>() + n * size;
      for (int64_t e = 0; e < size; ++e) out[e] = Output(at, row, e);
    }
    return result;
  }

 private:
  T Score(const Row& at, int64_t j) const {
    T s = round_(SumOfProducts<T>(
        by_depth_, order_,
        [&](int64_t d) {
          return before_ * Element<T>(p_.q, at.b, at.h, at.i, d);
        },
        [&](int64_t d) { return Element<T>(p_.k, at.b, at.kv, j, d); }));
    s = round_(after_ * s);
    if (p_.softcap) {
      const T cap = static_cast<T>(*p_.softcap);
      s = round_(cap * round_(std::tanh(round_(s / cap))));
    }
    if (p_.bias.given()) {
      s = round_(
          s + static_cast<T>(BroadcastElement(p_.bias, at.b, at.h, at.i, j)));
    }
    if (p_.alibi_slopes.given()) {
      const T distance =
          static_cast<T>(std::abs(PositionOf(p_, at.b, at.i) - j));
      s = round_(s - NumberOfHead(p_.alibi_slopes, at.h) * distance);
    }
    return s;
  }

  // Scores become weights; returns their log-sum-exp.
  double Softmax(const Row& at, std::vector<T>& row) const {
    T max = -kInfinity<T>, sum = 0;
    for (const T s : row) {
      if (s > max) max = s;
    }
    for (T& s : row) {
      s = s == -kInfinity<T> ? 0 : std::exp(s - max);
      sum += s;
    }
    const T lse = sum == 0 ? -kInfinity<T> : max + std::log(sum);
    if (p_.sink_logit.given() && sum != 0) {
      sum += std::exp(NumberOfHead(p_.sink_logit, at.h) - max);
    }
    for (T& weight : row) {
      if (sum != 0) weight = round_(weight / sum);
    }
    return static_cast<double>(lse);
  }

  double Output(const Row& at, const std::vector<T>& row, int64_t e) const {
    const auto weight = [&](int64_t j) {
      const T all = row[static_cast<size_t>(j)];
      if (!p_.dropout) return all;
      return IsKept(p_, at.b, at.h, at.i, j)
                 ? all / static_cast<T>(1 - p_.dropout->p)
                 : T{0};
    };
    // What has no weight may hold anything.
    const auto value = [&](int64_t j) {
      return weight(j) == 0 ? 0 : Element<T>(p_.v, at.b, at.kv, j, e);
    };
    return static_cast<double>(
        round_(SumOfProducts<T>(by_key_, order_, weight, value)));
  }

  static T NumberOfHead(const TensorView& list, int64_t h) {
    return static_cast<T>(BroadcastElement(list, 0, 0, 0, h));
  }

  const AttentionProblem& p_;
  const Order order_;
  const Round& round_;
  const std::vector<int64_t> by_depth_, by_key_;
  T before_, after_;
};

}  // namespace

template <typename T>
AttentionResult PlainAttention(const AttentionProblem& p, Order order) {
  const auto exact = [](T x) { return x; };
  return Plain<T, decltype(exact)>(p, order, exact).Run();
}

AttentionResult PlainHalfAttention(const AttentionProblem& p, DType half,
                                   Order order) {
  const auto round = [half](float x) {
    return half == DType::kBF16 ? F32FromBF16(BF16FromF32(x))
                                : F32FromF16(F16FromF32(x));
  };
  return Plain<float, decltype(round)>(p, order, round).Run();
}

template AttentionResult PlainAttention<float>(const AttentionProblem&, Order);
template AttentionResult PlainAttention<double>(const AttentionProblem&, Order);
template AttentionResult PlainAttention<long double>(const AttentionProblem&,
                                                     Order);

}  // namespace regard::inline v0
