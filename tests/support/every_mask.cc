#include "tests/support/every_mask.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>

namespace regard::inline v0 {

namespace {

class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed) {}
  uint32_t Next() {
    state_ = state_ * 1664525 + 1013904223;
    return state_ >> 8;
  }
  float Near0() { return static_cast<float>(Next()) / (1 << 22) - 2; }

 private:
  uint32_t state_;
};

Tensor RandomFloats(DType dtype, const Dims& shape, uint32_t seed) {
  Numbers numbers(seed);
  Tensor floats(DType::kF32, shape);
  for (int64_t i = 0; i < floats.NumElements(); ++i) {
    floats.AsMutable<float>()[i] = numbers.Near0();
  }
  return dtype == DType::kF32 ? std::move(floats) : Converted(floats, dtype);
}

// Every third key, back from the query's position; not the same ones for all
// heads.
class Dilated : public MaskFunction {
 public:
  bool Allows(const MaskFrame& frame, int64_t query,
              int64_t key) const noexcept override {
    const int64_t distance = query + frame.offset - key;
    return distance >= 0 && (distance + frame.head) % 3 == 0;
  }
};

// A copy of a view of rank 4 whose heads lie inside, with gaps behind rows and
// between numbers.
TensorView Spread(const TensorView& view, std::vector<Tensor>& owners) {
  if (view.rank() != 4) return view;
  const Dims& n = view.shape;
  const Tensor from = Tensor::CopyOf(view);
  Tensor memory(view.dtype, {n[0], n[2], n[1], 2 * n[3] + 6});
  const Dims m = memory.view().strides;
  const TensorView spread(memory.view().data, view.dtype, n,
                          {m[0], m[2], m[1], 2});
  const size_t item = ItemSize(view.dtype);
  const auto* source = static_cast<const std::byte*>(from.view().data);
  auto* target = static_cast<std::byte*>(memory.mutable_view().mutable_data());
  for (int64_t i = 0; i < from.NumElements(); ++i) {
    const int64_t row = i / n[3];
    const int64_t at = row / n[2] / n[1] * m[0] + row / n[2] % n[1] * m[2] +
                       row % n[2] * m[1] + i % n[3] * 2;
    std::memcpy(target + static_cast<size_t>(at) * item,
                source + static_cast<size_t>(i) * item, item);
  }
  owners.push_back(std::move(memory));
  return spread;
}

}  // namespace

const std::vector<std::string>& EveryMask() {
  static const std::vector<std::string>& names = *new std::vector<std::string>{
      "full",    "causal",    "prefix",  "window", "first keys", "chunk",
      "lengths", "documents", "boolean", "bits",   "custom",     "block-sparse",
      "bias",    "alibi",     "softcap", "sink",   "dropout",    "all"};
  return names;
}

EveryMaskArrays::EveryMaskArrays(DType dtype) {
  const auto own = [&](Tensor tensor) {
    owners_.push_back(std::move(tensor));
    return owners_.back().view();
  };
  q_ = own(RandomFloats(dtype, {kBatch, kHeads, kQueries, 24}, 1));
  k_ = own(RandomFloats(dtype, {kBatch, kKvHeads, kKeys, 24}, 2));
  v_ = own(RandomFloats(dtype, {kBatch, kKvHeads, kKeys, 20}, 3));
  bias_ = own(RandomFloats(DType::kF32, {kBatch, 1, kQueries, kKeys}, 4));
  slopes_ = own(RandomFloats(DType::kF32, {kHeads}, 5));
  sinks_ = own(RandomFloats(DType::kF32, {kHeads}, 6));
  Numbers numbers(7);
  Tensor boolean(DType::kU8, {kBatch, 1, kQueries, kKeys});
  for (int64_t i = 0; i < boolean.NumElements(); ++i) {
    boolean.AsMutable<uint8_t>()[i] = numbers.Next() % 4 == 0;
  }
  boolean_ = own(std::move(boolean));
  Tensor bits(DType::kU8, {kBatch, kHeads, kQueries, (kKeys + 7) / 8});
  for (int64_t i = 0; i < bits.NumElements(); ++i) {
    bits.AsMutable<uint8_t>()[i] =
        static_cast<uint8_t>(i % 3 == 0 ? 255 : numbers.Next() % 256);
  }
  bits_ = own(std::move(bits));
  Tensor layout(DType::kU8, {kBatch, kHeads, 3, 9});
  for (int64_t i = 0; i < layout.NumElements(); ++i) {
    layout.AsMutable<uint8_t>()[i] = numbers.Next() % 2;
  }
  layout_ = own(std::move(layout));
  Tensor query_ids(DType::kI64, {kBatch, kQueries});
  for (int64_t i = 0; i < query_ids.NumElements(); ++i) {
    query_ids.AsMutable<int64_t>()[i] = i % kQueries / 40;
  }
  query_ids_ = own(std::move(query_ids));
  Tensor key_ids(DType::kI64, {kBatch, kKeys});
  for (int64_t i = 0; i < key_ids.NumElements(); ++i) {
    key_ids.AsMutable<int64_t>()[i] = i % kKeys / (i < kKeys ? 200 : 310);
  }
  key_ids_ = own(std::move(key_ids));
}

AttentionProblem EveryMaskArrays::Problem(const std::string& mask,
                                          int64_t begin, int64_t end) const {
  const auto part = [&](const TensorView& view) {
    return view.Slice(0, begin, end);
  };
  const auto lengths = [&](std::vector<int64_t> all) {
    return std::vector<int64_t>(all.begin() + begin, all.begin() + end);
  };
  AttentionProblem p;
  p.q = part(q_);
  p.k = part(k_);
  p.v = part(v_);
  p.query_offset = QueryOffset::BottomRight();
  const std::pair<const char*, std::function<void()>> terms[] = {
      {"full", [] {}},
      {"causal", [&] { p.mask = p.mask & Mask::Causal(); }},
      {"prefix", [&] { p.mask = p.mask & Mask::Prefix(415); }},
      {"window", [&] { p.mask = p.mask & Mask::Window(200, 3); }},
      {"first keys", [&] { p.mask = p.mask & Mask::Window(90, 0, 20); }},
      {"chunk", [&] { p.mask = p.mask & Mask::Chunk(150); }},
      {"lengths",
       [&] {
         p.mask =
             p.mask & Mask::Lengths(lengths({61, 70}), lengths({517, 260}));
       }},
      {"documents",
       [&] {
         p.mask = p.mask & Mask::Documents(part(query_ids_), part(key_ids_));
       }},
      {"boolean", [&] { p.mask = p.mask & Mask::Boolean(part(boolean_)); }},
      {"bits", [&] { p.mask = p.mask & Mask::Bits(part(bits_)); }},
      {"custom",
       [&] { p.mask = p.mask & Mask::Custom(std::make_shared<Dilated>()); }},
      {"block-sparse",
       [&] { p.mask = p.mask & Mask::BlockSparse(part(layout_), 30, 64); }},
      {"bias", [&] { p.bias = part(bias_); }},
      {"alibi", [&] { p.alibi_slopes = slopes_; }},
      {"softcap", [&] { p.softcap = 5; }},
      {"sink", [&] { p.sink_logit = sinks_; }},
      {"dropout", [&] {
         p.dropout = Dropout{.p = 0.25, .seed = 9, .sequence_ids = {}};
         p.dropout->sequence_ids = lengths({7, 3});
       }}};
  // Of the patterns one: together they would leave too little.
  const std::set<std::string> left_out = {"documents", "boolean", "custom",
                                          "block-sparse"};
  for (const auto& [name, add] : terms) {
    if (mask == name || (mask == "all" && !left_out.contains(name))) add();
  }
  return p;
}

EveryMaskArrays EveryMaskArrays::Rearranged() const {
  EveryMaskArrays copy;
  for (TensorView EveryMaskArrays::*view :
       {&EveryMaskArrays::q_, &EveryMaskArrays::k_, &EveryMaskArrays::v_,
        &EveryMaskArrays::bias_, &EveryMaskArrays::boolean_,
        &EveryMaskArrays::bits_, &EveryMaskArrays::layout_,
        &EveryMaskArrays::query_ids_, &EveryMaskArrays::key_ids_,
        &EveryMaskArrays::slopes_, &EveryMaskArrays::sinks_}) {
    copy.*view = Spread(this->*view, copy.owners_);
  }
  return copy;
}

}  // namespace regard::inline v0
