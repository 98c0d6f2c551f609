// Pieces and their ids: one block of memory for all spellings, one open hash
// table.
#ifndef REGARD_SRC_TEXT_VOCABULARY_H_
#define REGARD_SRC_TEXT_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::inline v0 {

class Json;

class Vocabulary {
 public:
  // FNV-1a, byte by byte: the hash of every prefix of a word comes from one
  // pass over it.
  static constexpr uint64_t kEmptyHash = 0xCBF29CE484222325u;
  static uint64_t Extend(uint64_t hash, char byte) {
    return (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  }
  static uint64_t Extend(uint64_t hash, std::string_view bytes) {
    for (const char byte : bytes) hash = Extend(hash, byte);
    return hash;
  }

  // `json`: an object, piece to id. Error (kFormat) starting with `where`: no
  // pieces, an id below 0 or beyond 2^31, a piece or an id that stands twice.
  Vocabulary(const Json& json, const std::string& where);

  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  size_t longest_piece() const { return longest_piece_; }  // bytes

  std::optional<int32_t> Find(std::string_view piece) const {
    return Find(Extend(kEmptyHash, piece), {}, piece);
  }
  // The piece spelled `head` + `tail`, of which `hash` is the hash.
  std::optional<int32_t> Find(uint64_t hash, std::string_view head,
                              std::string_view tail) const;
  bool HasId(int64_t id) const;

 private:
  struct Entry {
    size_t begin, length;  // of its spelling
    int32_t id;
  };
  std::string_view Spelling(const Entry& entry) const {
    return std::string_view(spellings_).substr(entry.begin, entry.length);
  }
  struct Slot {
    uint32_t tag;    // upper half of the hash: most misses end here, without a
                     // look at the spelling
    uint32_t entry;  // 1 + its index; 0: free
  };
  // The slot where a piece of this hash and spelling is, or would go.
  size_t SlotOf(uint64_t hash, std::string_view head,
                std::string_view tail) const;

  std::string spellings_;
  std::vector<Entry> entries_;
  std::vector<int32_t> ids_;  // sorted
  std::vector<Slot> slots_;
  size_t longest_piece_ = 0;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_VOCABULARY_H_
