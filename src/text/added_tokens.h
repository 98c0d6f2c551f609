// The tokens of the section "added_tokens": found in the text before anything
// else looks at it.
#ifndef REGARD_SRC_TEXT_ADDED_TOKENS_H_
#define REGARD_SRC_TEXT_ADDED_TOKENS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/parts.h"

namespace regard::inline v0 {

struct AddedToken {
  std::string content;
  int64_t id = 0;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the whitespace on its left too
  bool rstrip = false;       // and on its right
  bool normalized = false;   // compared after normalization, on both sides
};

// A set of spellings, found leftmost first, the longest of those that begin at
// one place.
class AddedTokenMatcher {
 public:
  // `spelling` must not be empty. Of two equal spellings the first one counts.
  void Add(std::u32string_view spelling, const AddedToken& token);

  // A piece of `text`: an added token, or (nullptr) what lies between.
  struct Part {
    const AddedToken* token;
    CharRange chars;
  };
  // The parts of `text`, in order; empty ones are left out.
  std::vector<Part> Split(std::u32string_view text) const;

 private:
  // A tree of characters; node 0 is its root.
  static uint64_t Edge(uint32_t node, char32_t c) {
    return uint64_t{node} << 32 | c;
  }
  struct Match {
    size_t length = 0;  // 0: none
    const AddedToken* token = nullptr;
  };
  Match LongestAt(std::u32string_view text, size_t begin) const;
  // The match with the whitespace that it takes, or nothing when a word
  // character touches a `single_word`. `taken`: where the part before it ends.
  std::optional<CharRange> Extent(std::u32string_view text, size_t begin,
                                  const Match& match, size_t taken) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<uint64_t, uint32_t> edges_;
  std::vector<size_t> ends_{kNone};  // per node: the token that ends there
  std::array<bool, 128> starts_{};   // ASCII characters that begin a token
  bool starts_beyond_ascii_ = false;
  static constexpr size_t kNone = ~size_t{0};
};

class AddedTokens {
 public:
  // `json`: the section, or null. Error (kFormat) for a token whose id is not
  // the one that the vocabulary gives it or, for a new token, the next free
  // one.
  AddedTokens(const Json& json, const std::string& where,
              const TokenModel& model, const Normalizer* normalizer);

  const AddedTokenMatcher& verbatim() const { return verbatim_; }
  const AddedTokenMatcher& normalized() const { return normalized_; }

  // Of the tokens that are not in the vocabulary of the model.
  std::optional<int64_t> IdOf(const std::string& content) const;
  bool HasId(int64_t id) const;
  int64_t size() const { return static_cast<int64_t>(new_ids_.size()); }

 private:
  void CheckId(const AddedToken& token, const std::string& where,
               const TokenModel& model);

  AddedTokenMatcher verbatim_, normalized_;
  std::unordered_map<std::string, int64_t> new_ids_;
  int64_t largest_id_ = -1;  // so far, of tokens old and new
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_ADDED_TOKENS_H_
