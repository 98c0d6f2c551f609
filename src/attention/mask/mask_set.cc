#include "attention/mask/mask_set.h"

#include <bit>
#include <limits>
#include <utility>
#include <variant>

#include "attention/score/broadcast.h"

namespace regard::inline v0 {

// Here rather than in the header: inlined under a sanitizer, copies of the
// variant make g++ 12 warn of members that are not there.
Mask::Mask(MaskTerm term) { terms_.push_back(std::move(term)); }

Mask Mask::And(const Mask& other) {
  terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end());
  return std::move(*this);
}

uint64_t PlainNotZero64(const uint8_t* bytes) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kHigh = 0x8080808080808080, kLow = ~kHigh;
  uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes + 8 * i, 8);
    const uint64_t high = (((word & kLow) + kLow) | word) & kHigh;
    // Bit 8 i moves to bit 56 + i; no two products meet in one bit.
    bits |= (high >> 7) * 0x0102040810204080 >> 56 << (8 * i);
  }
  return bits;
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max()
               : std::numeric_limits<int64_t>::min();
}

namespace {

// The index of a mask of documents; `next` becomes that of the one behind it.
DocumentIndex TakeIndex(const DocumentMask& mask, DocumentIndex& next) {
  const DocumentIndex index = next;
  if (next.pieces != nullptr) next.pieces += PiecesOf(mask);
  return index;
}

}  // namespace

IndexRange MaskSet::Range(IndexRange queries, IndexRange keys) const {
  keys = keys & IndexRange{0, frame_.key_length};
  DocumentIndex next = documents_;
  for (const MaskTerm& term : *terms_) {
    if (keys.empty()) return {};
    keys = std::visit(
        [&](const auto& mask) {
          using M = std::decay_t<decltype(mask)>;
          if constexpr (std::is_same_v<M, DocumentMask>) {
            return regard::Range(mask, frame_, queries, keys,
                                 TakeIndex(mask, next));
          } else {
            return regard::Range(mask, frame_, queries, keys);
          }
        },
        term);
  }
  return keys;
}

template <typename M>
TileClass MaskSet::ClassifyTerm(const M& mask, const ScoreTile& tile,
                                DocumentIndex& next) const {
  if constexpr (std::is_same_v<M, DocumentMask>) {
    return regard::Classify(mask, frame_, tile, TakeIndex(mask, next));
  } else {
    return regard::Classify(mask, frame_, tile);
  }
}

TileClass MaskSet::Classify(const ScoreTile& tile) const {
  TileClass all = TileClass::kFull;
  DocumentIndex next = documents_;
  for (const MaskTerm& term : *terms_) {
    const TileClass one = std::visit(
        [&](const auto& mask) { return ClassifyTerm(mask, tile, next); }, term);
    if (one == TileClass::kEmpty) return TileClass::kEmpty;
    if (one == TileClass::kMixed) all = TileClass::kMixed;
  }
  return all;
}

TileClass MaskSet::Estimate(const ScoreTile& tile) const {
  TileClass all = TileClass::kFull;
  DocumentIndex next = documents_;
  for (const MaskTerm& term : *terms_) {
    const TileClass one = std::visit(
        [&](const auto& mask) {
          return IsStored(mask) ? TileClass::kMixed
                                : ClassifyTerm(mask, tile, next);
        },
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

// Documents whose ids grow are runs of keys.
bool MaskSet::IsPattern(const MaskTerm& term) const {
  if (documents_.growing && std::holds_alternative<DocumentMask>(term)) {
    return false;
  }
  return std::visit([](const auto& mask) { return regard::HasPattern(mask); },
                    term);
}

bool MaskSet::HasPattern() const {
  return std::any_of(terms_->begin(), terms_->end(),
                     [&](const MaskTerm& term) { return IsPattern(term); });
}

void MaskSet::SetRow(int64_t query, IndexRange keys,
                     const KeyBits& visible) const {
  const IndexRange range = Range({query, query + 1}, keys);
  if (range.empty()) return;
  visible.Set(range);
  for (const MaskTerm& term : *terms_) {
    if (!IsPattern(term)) continue;
    std::visit(
        [&](const auto& mask) {
          regard::AndRow(mask, frame_, query, range, visible);
        },
        term);
  }
}

RowsAhead MaskSet::StoredAhead(int64_t query, int64_t key) const {
  if (query >= frame_.query_length) return {};
  for (const MaskTerm& term : *terms_) {
    if (const auto* mask = std::get_if<BooleanMask>(&term)) {
      return AheadOf(mask->allowed, frame_.batch, frame_.head, query, key, 1);
    }
    if (const auto* mask = std::get_if<BitMask>(&term)) {
      return AheadOf(mask->bytes, frame_.batch, frame_.head, query, key, 8);
    }
  }
  return {};
}

}  // namespace regard::inline v0
