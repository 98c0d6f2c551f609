// One function per term of a mask.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/boundary.h"
#include "capi/handles.h"
#include "capi/tensor.h"

namespace {

using regard::Mask;

// *mask &= term(), made inside the guard.
template <typename Term>
regard_status And(const char* function, regard_mask* mask, const Term& term) {
  return regard::Guard(function, [&] {
    Mask& value = regard::Required(mask, "mask").value;
    value = value & term();
  });
}

std::optional<int64_t> Limit(int64_t value) {
  if (value == REGARD_NO_LIMIT) return std::nullopt;
  return value;
}

// A mask that asks functions of C.
class FunctionsOfC : public regard::MaskFunction {
 public:
  FunctionsOfC(regard_mask_allows allows, regard_mask_range range,
               regard_mask_classify classify, void* user)
      : allows_(allows), range_(range), classify_(classify), user_(user) {}

  bool Allows(const regard::MaskFrame& frame, int64_t query,
              int64_t key) const noexcept override {
    const regard_mask_frame c_frame = FrameOf(frame);
    return allows_(&c_frame, query, key, user_) != 0;
  }

  regard::IndexRange Range(const regard::MaskFrame& frame,
                           regard::IndexRange queries,
                           regard::IndexRange keys) const noexcept override {
    if (range_ == nullptr) return keys;
    const regard_mask_frame c_frame = FrameOf(frame);
    regard::IndexRange part = keys;
    range_(&c_frame, queries.begin, queries.end, &part.begin, &part.end, user_);
    return part & keys;
  }

  regard::TileClass Classify(
      const regard::MaskFrame& frame,
      const regard::ScoreTile& tile) const noexcept override {
    if (classify_ == nullptr) return regard::TileClass::kMixed;
    const regard_mask_frame c_frame = FrameOf(frame);
    switch (classify_(&c_frame, tile.queries.begin, tile.queries.end,
                      tile.keys.begin, tile.keys.end, user_)) {
      case REGARD_TILE_EMPTY:
        return regard::TileClass::kEmpty;
      case REGARD_TILE_FULL:
        return regard::TileClass::kFull;
      default:
        return regard::TileClass::kMixed;
    }
  }

 private:
  static regard_mask_frame FrameOf(const regard::MaskFrame& frame) {
    return {frame.batch, frame.head, frame.query_length, frame.key_length,
            frame.offset};
  }

  regard_mask_allows allows_;
  regard_mask_range range_;
  regard_mask_classify classify_;
  void* user_;
};

}  // namespace

regard_status regard_mask_create(regard_mask** mask) {
  return regard::Guard("regard_mask_create",
                       [&] { regard::Create(mask, "mask"); });
}

void regard_mask_destroy(regard_mask* mask) { delete mask; }

regard_status regard_mask_and_causal(regard_mask* mask) {
  return And("regard_mask_and_causal", mask, [] { return Mask::Causal(); });
}

regard_status regard_mask_and_prefix(regard_mask* mask, int64_t keys) {
  return And("regard_mask_and_prefix", mask,
             [&] { return Mask::Prefix(keys); });
}

regard_status regard_mask_and_chunk(regard_mask* mask, int64_t size) {
  return And("regard_mask_and_chunk", mask, [&] { return Mask::Chunk(size); });
}

regard_status regard_mask_and_window(regard_mask* mask, int64_t left,
                                     int64_t right, int64_t first_keys) {
  return And("regard_mask_and_window", mask, [&] {
    return Mask::Window(Limit(left), Limit(right), first_keys);
  });
}

regard_status regard_mask_and_lengths(regard_mask* mask, int64_t batch,
                                      const int64_t* query,
                                      const int64_t* key) {
  return And("regard_mask_and_lengths", mask, [&] {
    return Mask::Lengths(regard::Copied(query, batch, "batch"),
                         regard::Copied(key, batch, "batch"));
  });
}

regard_status regard_mask_and_documents(regard_mask* mask,
                                        const regard_tensor* query,
                                        const regard_tensor* key) {
  return And("regard_mask_and_documents", mask, [&] {
    return Mask::Documents(regard::RequiredViewOf(query, "query"),
                           regard::RequiredViewOf(key, "key"));
  });
}

regard_status regard_mask_and_block_sparse(regard_mask* mask,
                                           const regard_tensor* layout,
                                           int64_t query_block,
                                           int64_t key_block) {
  return And("regard_mask_and_block_sparse", mask, [&] {
    return Mask::BlockSparse(regard::RequiredViewOf(layout, "layout"),
                             query_block, key_block);
  });
}

regard_status regard_mask_and_bits(regard_mask* mask,
                                   const regard_tensor* bytes) {
  return And("regard_mask_and_bits", mask, [&] {
    return Mask::Bits(regard::RequiredViewOf(bytes, "bytes"));
  });
}

regard_status regard_mask_and_function(regard_mask* mask,
                                       regard_mask_allows allows,
                                       regard_mask_range range,
                                       regard_mask_classify classify,
                                       void* user) {
  return And("regard_mask_and_function", mask, [&] {
    regard::Required(allows, "allows");
    return Mask::Custom(
        std::make_shared<FunctionsOfC>(allows, range, classify, user));
  });
}

regard_status regard_mask_and_boolean(regard_mask* mask,
                                      const regard_tensor* allowed) {
  return And("regard_mask_and_boolean", mask, [&] {
    return Mask::Boolean(regard::RequiredViewOf(allowed, "allowed"));
  });
}
