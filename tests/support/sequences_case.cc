#include "tests/support/sequences_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/convert.h"
#include "tests/support/random.h"

namespace regard::inline v0 {

namespace {

void Fill(Tensor& tensor, const auto& value) {
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    if (tensor.dtype() == DType::kF32) {
      tensor.AsMutable<float>()[i] = static_cast<float>(value());
    } else if (tensor.dtype() == DType::kBF16) {
      auto* halves =
          static_cast<uint16_t*>(tensor.mutable_view().mutable_data());
      halves[i] = BF16FromF32(static_cast<float>(value()));
    } else {
      tensor.AsMutable<double>()[i] = value();
    }
  }
}

Tensor Poisoned(DType dtype, const Dims& shape) {
  Tensor tensor(dtype, shape);
  Fill(tensor, [] { return std::numeric_limits<double>::quiet_NaN(); });
  return tensor;
}

// Row `row` of every head of `from` [1, H, L, D] to row `slot` of `to` at
// `batch`.
void CopyRow(const Tensor& from, int64_t row, Tensor& to, int64_t batch,
             int64_t slot) {
  const size_t bytes =
      static_cast<size_t>(from.dim(3)) * ItemSize(from.dtype());
  for (int64_t h = 0; h < from.dim(1); ++h) {
    const TensorView source = from.view().Select(1, h).Select(1, row);
    const TensorView place =
        to.view().Select(0, batch).Select(0, h).Select(0, slot);
    std::copy_n(static_cast<const std::byte*>(source.data), bytes,
                static_cast<std::byte*>(const_cast<void*>(place.data)));
  }
}

constexpr int64_t kLengths[] = {0, 1, 2, 3, 8, 9, 13, 31, 64, 65, 100};
constexpr int64_t kSizes[] = {1, 3, 8, 16, 40, 64, 80, 128};

Tensor Numbers(const std::vector<int64_t>& values, const Dims& shape,
               bool wide) {
  Tensor tensor(wide ? DType::kI64 : DType::kI32, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (wide) {
      tensor.AsMutable<int64_t>()[i] = values[i];
    } else {
      tensor.AsMutable<int32_t>()[i] = static_cast<int32_t>(values[i]);
    }
  }
  return tensor;
}

std::vector<int64_t> StartsOf(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> starts = {0};
  for (const int64_t length : lengths) starts.push_back(starts.back() + length);
  return starts;
}

}  // namespace

const char* NameOf(KeyStorage storage) {
  constexpr const char* kNames[] = {"packed", "capacity", "pages", "ring",
                                    "paged_ring"};
  return kNames[static_cast<size_t>(storage)];
}

struct SequencesCase::Shape {
  int64_t heads, kv_heads, depth, value_size;
  int64_t longest_query, longest_key;
  bool wide;  // lists of i64
};

SequencesCase::SequencesCase(const SequencesRequest& request)
    : state_(request.seed) {
  Random random(request.seed);
  Shape shape;
  shape.kv_heads = 1 + random.Below(2);
  shape.heads = shape.kv_heads * (1 + random.Below(3));
  shape.depth = kSizes[static_cast<size_t>(random.Below(8))];
  shape.value_size = random.Chance(2)
                         ? shape.depth
                         : kSizes[static_cast<size_t>(random.Below(8))];
  shape.wide = random.Chance(2);
  MakeLengths(request, shape);
  MakeKeys(request, shape);
  MakeMask(shape);
}

void SequencesCase::MakeLengths(const SequencesRequest& request, Shape& shape) {
  Random random(request.seed + 1);
  const int64_t sequences = random.Chance(8) ? 0 : 1 + random.Below(6);
  const auto length = [&] {
    return kLengths[static_cast<size_t>(random.Below(11))];
  };
  const int64_t same = length();
  for (int64_t s = 0; s < sequences; ++s) {
    query_lengths_.push_back(request.packed_queries ? length() : same);
    const bool several_blocks = random.Chance(3);
    key_lengths_.push_back(length() +
                           (several_blocks ? random.Below(1200) : 0));
  }
  const auto longest = [](const std::vector<int64_t>& list) {
    return list.empty() ? 0 : *std::max_element(list.begin(), list.end());
  };
  shape.longest_query = longest(query_lengths_);
  shape.longest_key = longest(key_lengths_);
  query_starts_ = StartsOf(query_lengths_);
  key_starts_ = StartsOf(key_lengths_);

  if (request.packed_queries) {
    q_ = Tensor(request.dtype,
                {1, shape.heads, query_starts_.back(), shape.depth});
    problem_.query_starts =
        shape.wide ? TensorView(query_starts_.data(), {sequences + 1})
                   : TensorView();
    if (!shape.wide) {
      ids_q_ = Numbers(query_starts_, {sequences + 1}, false);
      problem_.query_starts = ids_q_;
    }
  } else {
    q_ = Tensor(request.dtype, {sequences, shape.heads, same, shape.depth});
  }
  Fill(q_, [&] { return random.Normal(); });
  problem_.q = q_;
  description_ = std::string(NameOf(request.storage)) + " seed " +
                 std::to_string(request.seed) + " q " + ToString(q_.shape());
  for (int64_t s = 0; s < sequences; ++s) {
    description_ += s == 0 ? ": " : ", ";
    description_ += std::to_string(query_lengths_[static_cast<size_t>(s)]) +
                    "x" + std::to_string(key_lengths_[static_cast<size_t>(s)]);
  }
}

void SequencesCase::MakeKeys(const SequencesRequest& request,
                             const Shape& shape) {
  Random random(request.seed + 2);
  const DType dtype = request.dtype;
  for (const int64_t length : key_lengths_) {
    keys_.emplace_back(dtype, Dims{1, shape.kv_heads, length, shape.depth});
    values_.emplace_back(dtype,
                         Dims{1, shape.kv_heads, length, shape.value_size});
    Fill(keys_.back(), [&] { return random.Normal(); });
    Fill(values_.back(), [&] { return random.Normal(); });
  }
  const bool paged = request.storage == KeyStorage::kPages ||
                     request.storage == KeyStorage::kPagedRing;
  const bool ring = request.storage == KeyStorage::kRing ||
                    request.storage == KeyStorage::kPagedRing;
  int64_t slots = shape.longest_key + random.Below(5);
  KeyRing held = {0, 0};
  if (ring) {
    const int64_t left = 1 + random.Below(90);
    held = {random.Below(20), std::max<int64_t>(1, left + shape.longest_query -
                                                       1 + random.Below(3))};
    slots = held.first_keys + held.period + random.Below(3);
    problem_.ring = held;
    problem_.query_offset = QueryOffset::BottomRight();
    problem_.mask = Mask::Window(left, std::nullopt, held.first_keys);
    description_ += " window " + std::to_string(left) + " first " +
                    std::to_string(held.first_keys) + " period " +
                    std::to_string(held.period);
  }
  const int64_t page_rows = paged ? 1 + random.Below(20) : slots;
  const int64_t per_sequence =
      paged ? (slots + page_rows - 1) / page_rows + random.Below(2) : 1;
  const int64_t spare = paged ? 3 : 0;
  std::vector<int64_t> pages(
      static_cast<size_t>(sequences() * per_sequence + spare));
  std::iota(pages.begin(), pages.end(), 0);
  if (paged) {  // shuffled
    for (size_t i = pages.size() - 1; i > 0; --i) {
      std::swap(pages[i], pages[static_cast<size_t>(
                              random.Below(static_cast<int64_t>(i) + 1))]);
    }
  }
  const bool packed = request.storage == KeyStorage::kPacked;
  const Dims full = packed ? Dims{1, shape.kv_heads, key_starts_.back(), 0}
                           : Dims{static_cast<int64_t>(pages.size()),
                                  shape.kv_heads, page_rows, 0};
  const auto with_size = [&](int64_t size) {
    return Dims{full[0], full[1], full[2], size};
  };
  k_ = Poisoned(dtype, with_size(shape.depth));
  v_ = Poisoned(dtype, with_size(shape.value_size));
  std::vector<int64_t> table(static_cast<size_t>(sequences() * per_sequence),
                             -77);
  for (int64_t s = 0; s < sequences(); ++s) {
    for (int64_t j = 0; j < key_lengths_[static_cast<size_t>(s)]; ++j) {
      int64_t slot = j;
      if (ring && j >= held.first_keys) {
        slot = held.first_keys + (j - held.first_keys) % held.period;
      }
      const size_t at =
          static_cast<size_t>(s * per_sequence + slot / page_rows);
      if (!packed) table[at] = pages[at];
      const int64_t batch = packed ? 0 : pages[at];
      const int64_t row =
          packed ? key_starts_[static_cast<size_t>(s)] + j : slot % page_rows;
      CopyRow(keys_[static_cast<size_t>(s)], j, k_, batch, row);
      CopyRow(values_[static_cast<size_t>(s)], j, v_, batch, row);
    }
  }
  problem_.k = k_;
  problem_.v = v_;
  if (paged) {
    table_ = Numbers(table, {sequences(), per_sequence}, shape.wide);
    problem_.block_table = table_;
  }
  lengths_ = packed ? Numbers(key_starts_, {sequences() + 1}, !shape.wide)
                    : Numbers(key_lengths_, {sequences()}, !shape.wide);
  (packed ? problem_.key_starts : problem_.key_lengths) = lengths_;
}

void SequencesCase::MakeMask(const Shape& shape) {
  Random random(state_ + 3);
  if (!problem_.query_offset) {
    problem_.query_offset =
        random.Chance(2) ? QueryOffset::BottomRight() : QueryOffset::TopLeft();
  }
  if (random.Chance(2)) {
    problem_.mask = problem_.mask & Mask::Causal();
    description_ += " causal";
  }
  const Dims full = {sequences(), shape.heads, shape.longest_query,
                     shape.longest_key};
  if (random.Chance(3)) {
    mask_ = Tensor(DType::kU8, {random.Chance(2) ? full[0] : 1, 1,
                                random.Chance(2) ? full[2] : 1, full[3]});
    for (int64_t i = 0; i < mask_.NumElements(); ++i) {
      static_cast<uint8_t*>(mask_.mutable_view().mutable_data())[i] =
          static_cast<uint8_t>(random.Below(3));
    }
    problem_.mask = problem_.mask & Mask::Boolean(mask_);
    description_ += " boolean " + ToString(mask_.shape());
  }
  if (random.Chance(3)) {
    bias_ = Tensor(DType::kF32, {full[0], 1, 1, full[3]});
    Fill(bias_, [&] { return random.Normal(); });
    problem_.bias = bias_;
    description_ += " bias";
  }
  if (random.Chance(4)) {
    std::vector<int64_t> queries, keys;
    for (size_t s = 0; s < query_lengths_.size(); ++s) {
      queries.push_back(random.Below(query_lengths_[s] + 1));
      keys.push_back(random.Below(key_lengths_[s] + 1));
    }
    // Bottom-right would look back past what a ring holds.
    if (!problem_.ring) {
      problem_.mask = problem_.mask & Mask::Lengths(queries, keys);
      description_ += " lengths";
    }
  }
}

AttentionProblem SequencesCase::Alone(int64_t s) const {
  AttentionProblem p = problem_;
  p.query_starts = p.key_starts = p.key_lengths = p.block_table = {};
  p.ring.reset();
  const size_t at = static_cast<size_t>(s);
  p.q = RowsOf(s, problem_.q);
  p.k = keys_[at];
  p.v = values_[at];
  const int64_t queries = query_lengths_[at], keys = key_lengths_[at];
  const auto own = [&](TensorView array) {
    if (array.shape[0] != 1) array = array.Slice(0, s, s + 1);
    if (array.shape[2] != 1) array = array.Slice(2, 0, queries);
    if (array.shape[3] != 1) array = array.Slice(3, 0, keys);
    return array;
  };
  if (p.bias.given()) p.bias = own(p.bias);
  p.mask = {};
  for (const MaskTerm& term : problem_.mask.terms()) {
    if (const auto* boolean = std::get_if<BooleanMask>(&term)) {
      p.mask = p.mask & Mask::Boolean(own(boolean->allowed));
    } else if (const auto* lengths = std::get_if<LengthsMask>(&term)) {
      p.mask = p.mask & Mask::Lengths({lengths->query[at]}, {lengths->key[at]});
    } else {
      p.mask = p.mask & Mask(term);
    }
  }
  return p;
}

TensorView SequencesCase::RowsOf(int64_t s, const TensorView& output) const {
  const size_t at = static_cast<size_t>(s);
  if (!problem_.query_starts.given()) return output.Slice(0, s, s + 1);
  return output.Slice(2, query_starts_[at], query_starts_[at + 1]);
}

}  // namespace regard::inline v0
