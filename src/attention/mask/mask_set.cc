#include "attention/mask/mask_set.h"

#include <limits>
#include <utility>
#include <variant>

namespace regard::inline v0 {

// Here rather than in the header: inlined under a sanitizer, copies of the
// variant make g++ 12 warn of members that are not there.
Mask::Mask(MaskTerm term) { terms_.push_back(std::move(term)); }

Mask Mask::And(const Mask& other) {
  terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end());
  return std::move(*this);
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max()
               : std::numeric_limits<int64_t>::min();
}

IndexRange MaskSet::Range(IndexRange queries, IndexRange keys) const {
  keys = keys & IndexRange{0, frame_.key_length};
  for (const MaskTerm& term : *terms_) {
    if (keys.empty()) return {};
    keys = std::visit(
        [&](const auto& mask) {
          return regard::Range(mask, frame_, queries, keys);
        },
        term);
  }
  return keys;
}

TileClass MaskSet::Classify(const ScoreTile& tile) const {
  TileClass all = TileClass::kFull;
  for (const MaskTerm& term : *terms_) {
    const TileClass one = std::visit(
        [&](const auto& mask) { return regard::Classify(mask, frame_, tile); },
        term);
    if (one == TileClass::kEmpty) return TileClass::kEmpty;
    if (one == TileClass::kMixed) all = TileClass::kMixed;
  }
  return all;
}

bool MaskSet::Allows(int64_t query, int64_t key) const {
  return std::all_of(terms_->begin(), terms_->end(), [&](const MaskTerm& term) {
    return std::visit(
        [&](const auto& mask) {
          return regard::Allows(mask, frame_, query, key);
        },
        term);
  });
}

bool MaskSet::HasPattern() const {
  return std::any_of(terms_->begin(), terms_->end(), [](const MaskTerm& term) {
    return std::visit([](const auto& mask) { return regard::HasPattern(mask); },
                      term);
  });
}

void MaskSet::AndRow(int64_t query, IndexRange keys, uint8_t* visible) const {
  for (const MaskTerm& term : *terms_) {
    std::visit(
        [&](const auto& mask) {
          if (!regard::HasPattern(mask)) return;
          regard::AndRow(mask, frame_, query, keys, visible);
        },
        term);
  }
}

}  // namespace regard::inline v0
