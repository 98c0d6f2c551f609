// What the names of tokens are looked up in: the original texts of an encoding,
// folded, with the edges of its tokens; and the labels of the tokens.
#ifndef REGARD_SRC_TEXT_TOKEN_NAMES_H_
#define REGARD_SRC_TEXT_TOKEN_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "regard/tokenizer.h"
#include "text/aligned_text.h"
#include "text/folded_text.h"

namespace regard::inline v0 {

// Tokens [first, last], both inclusive.
struct TokenRun {
  int64_t first = 0, last = 0;
  auto operator<=>(const TokenRun&) const = default;
};

// One sentence of an encoding.
class NamedSentence {
 public:
  NamedSentence(const Encoding& encoding, int sentence);

  // Where `key` stands in the sentence.
  struct Places {
    std::vector<TokenRun> on_edges;  // from a token's edge to a token's edge
    std::vector<TokenRun> inside;    // the tokens that it cuts
    int64_t without_tokens = 0;      // where no token was made, or it was cut
  };
  Places Find(const std::u32string& key) const;

  // Adds the runs of all keys of `runs` at once; `lengths` are those of keys.
  using RunsByKey = std::unordered_map<std::u32string, std::vector<TokenRun>>;
  void FindAll(const std::vector<size_t>& lengths, RunsByKey* runs) const;

  bool Holds(const TokenRun& run) const {
    return run.first >= first_token_ &&
           run.last < first_token_ + static_cast<int64_t>(tokens_.size());
  }
  int64_t first_token() const { return first_token_; }

 private:
  // The tokens that overlap original code points [begin, end).
  TokenRun Overlapping(int64_t begin, int64_t end) const;
  void AddPlace(size_t position, size_t length, Places* places) const;

  FoldedText text_;
  int64_t first_token_ = 0;
  // Code points of each token, without whitespace at its ends.
  std::vector<CharRange> tokens_;
  // Per position between code points: whether it is in the middle of a token.
  std::vector<bool> cuts_token_;
};

// Everything that a name can mean in an encoding.
class TokenNames {
 public:
  // `encoding` has to outlive it.
  explicit TokenNames(const Encoding& encoding);

  // What a name without number stands for. Occurrences count through `text`,
  // then `labels`.
  struct Candidates {
    // Occurrences in the texts, and tokens that the template inserted.
    std::vector<TokenRun> text;
    // Single tokens that are only labelled like that: the label is not what
    // stands in the text (##ing, [UNK], a letter without its accent).
    std::vector<TokenRun> labels;

    size_t size() const { return text.size() + labels.size(); }
    const TokenRun& operator[](size_t i) const {
      return i < text.size() ? text[i] : labels[i - text.size()];
    }
  };
  Candidates Find(const std::u32string& key) const;
  // The same for the label of every token.
  std::unordered_map<std::u32string, Candidates> FindLabels() const;

  const Encoding& encoding() const { return encoding_; }
  const std::vector<NamedSentence>& sentences() const { return sentences_; }
  // A label without its number: the piece, with spaces and controls that show.
  const std::string& BaseLabel(size_t token) const { return labels_[token]; }
  const std::u32string& Key(size_t token) const { return keys_[token]; }

 private:
  // Adds inserted tokens to `text`, and the rest of `tokens` to `labels`.
  Candidates Complete(std::vector<TokenRun> text,
                      const std::vector<size_t>& tokens) const;

  const Encoding& encoding_;
  std::vector<NamedSentence> sentences_;
  std::vector<std::string> labels_;
  std::vector<std::u32string> keys_;
};

// "the#2" in its parts; number 0: there is none, or none that counts from 1
// ("the#0", whose base is "the" all the same).
struct NumberedName {
  std::string_view base;
  int64_t number = 0;
};
NumberedName SplitNumber(std::string_view name);

// "@8" and "@8-10", as they stand: not checked against any text.
std::optional<TokenRun> ParseIndexes(std::string_view name);

inline constexpr std::string_view kSecondSentencePrefix = "b:";
inline constexpr std::string_view kLiteralPrefix = "text:";

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_TOKEN_NAMES_H_
