#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

int32_t CheckedId(const Json& json, const std::string& piece,
                  const std::string& where) {
  const int64_t id = json.AsInt(where + "[\"" + piece + "\"]");
  if (id < 0 || id > std::numeric_limits<int32_t>::max()) {
    throw Error(ErrorKind::kFormat, where,
                "\"" + piece + "\" has the id " + std::to_string(id) +
                    ", which is out of range");
  }
  return static_cast<int32_t>(id);
}

uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

}  // namespace

Vocabulary::Vocabulary(const Json& json, const std::string& where) {
  const Json::Object& pieces = json.AsObject(where);
  if (pieces.empty()) {
    throw Error(ErrorKind::kFormat, where, "there are no pieces in it");
  }
  size_t bytes = 0;
  for (const auto& [piece, id] : pieces) bytes += piece.size();
  spellings_.reserve(bytes);
  entries_.reserve(pieces.size());
  ids_.reserve(pieces.size());
  // At most half full, so that a search ends after a few steps.
  slots_.assign(std::bit_ceil(2 * pieces.size()), {0, 0});
  for (const auto& [piece, id] : pieces) {
    const uint64_t hash = Extend(kEmptyHash, piece);
    Slot& slot = slots_[SlotOf(hash, {}, piece)];
    if (slot.entry != 0) {
      throw Error(ErrorKind::kFormat, where,
                  "\"" + piece + "\" stands in it twice");
    }
    entries_.push_back(
        {spellings_.size(), piece.size(), CheckedId(id, piece, where)});
    slot = {Tag(hash), static_cast<uint32_t>(entries_.size())};
    spellings_ += piece;
    ids_.push_back(entries_.back().id);
    longest_piece_ = std::max(longest_piece_, piece.size());
  }
  if (!std::is_sorted(ids_.begin(), ids_.end())) {
    std::sort(ids_.begin(), ids_.end());
  }
  const auto twice = std::adjacent_find(ids_.begin(), ids_.end());
  if (twice != ids_.end()) {
    throw Error(ErrorKind::kFormat, where,
                "two pieces have the id " + std::to_string(*twice));
  }
}

size_t Vocabulary::SlotOf(uint64_t hash, std::string_view head,
                          std::string_view tail) const {
  const size_t mask = slots_.size() - 1;
  size_t i = (hash ^ (hash >> 32)) & mask;
  for (; slots_[i].entry != 0; i = (i + 1) & mask) {
    if (slots_[i].tag != Tag(hash)) continue;
    const std::string_view spelling = Spelling(entries_[slots_[i].entry - 1]);
    if (spelling.size() == head.size() + tail.size() &&
        spelling.substr(0, head.size()) == head &&
        spelling.substr(head.size()) == tail) {
      break;
    }
  }
  return i;
}

std::optional<int32_t> Vocabulary::Find(uint64_t hash, std::string_view head,
                                        std::string_view tail) const {
  const uint32_t entry = slots_[SlotOf(hash, head, tail)].entry;
  if (entry == 0) return std::nullopt;
  return entries_[entry - 1].id;
}

bool Vocabulary::HasId(int64_t id) const {
  return std::binary_search(ids_.begin(), ids_.end(), id);
}

}  // namespace regard::inline v0
