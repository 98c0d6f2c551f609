// WordPiece: from the left, always the longest piece that is in the vocabulary;
// a word with a part that is in no piece becomes one unknown token.
#include <algorithm>

#include "base/utf8.h"
#include "io/json.h"
#include "regard/error.h"
#include "text/parts.h"
#include "text/vocabulary.h"

namespace regard::inline v0 {

namespace {

class WordPiece : public TokenModel {
 public:
  explicit WordPiece(const PartSource& source)
      : unknown_piece_(StringMember(source, "unk_token")),
        prefix_(StringMember(source, "continuing_subword_prefix")),
        prefix_hash_(Vocabulary::Extend(Vocabulary::kEmptyHash, prefix_)),
        vocabulary_(Member(source, "vocab"), source.where + ".vocab") {
    const int64_t longest = IntMember(source, "max_input_chars_per_word");
    if (longest < 0) {
      throw Error(ErrorKind::kFormat, source.where,
                  "max_input_chars_per_word is " + std::to_string(longest) +
                      "; it must not be negative");
    }
    longest_word_ = static_cast<size_t>(longest);
    const std::optional<int32_t> id = vocabulary_.Find(unknown_piece_);
    if (!id) {
      throw Error(
          ErrorKind::kFormat, source.where,
          "unk_token \"" + unknown_piece_ + "\" is not in the vocabulary");
    }
    unknown_id_ = *id;
  }

  void Tokenize(const AlignedText& text, CharRange word,
                std::vector<ModelToken>* tokens) const override {
    const size_t before = tokens->size();
    if (word.end - word.begin <= longest_word_ &&
        AppendPieces(text, word, tokens)) {
      return;
    }
    tokens->resize(before);
    tokens->push_back({unknown_id_, unknown_piece_, word});
  }

  int64_t VocabularySize() const override { return vocabulary_.size(); }
  std::optional<int64_t> IdOf(std::string_view piece) const override {
    return vocabulary_.Find(piece);
  }
  bool HasId(int64_t id) const override { return vocabulary_.HasId(id); }

 private:
  // False when some part of the word is in no piece.
  bool AppendPieces(const AlignedText& text, CharRange word,
                    std::vector<ModelToken>* tokens) const {
    std::string bytes;
    std::vector<size_t> starts;  // of each character in `bytes`, and the end
    for (size_t i = word.begin; i < word.end; ++i) {
      starts.push_back(bytes.size());
      AppendUtf8(bytes, text.chars[i]);
    }
    starts.push_back(bytes.size());
    const size_t length = word.end - word.begin;
    for (size_t begin = 0; begin < length;) {
      const std::string_view head = begin == 0 ? std::string_view() : prefix_;
      const auto [end, id] = LongestPiece(head, bytes, starts, begin);
      if (end == begin) return false;
      ModelToken token{id, std::string(head), {}};
      token.piece.append(bytes, starts[begin], starts[end] - starts[begin]);
      token.chars = {word.begin + begin, word.begin + end};
      tokens->push_back(std::move(token));
      begin = end;
    }
    return true;
  }

  struct Match {
    size_t end;  // character after the piece; its begin when there is none
    int64_t id;
  };
  Match LongestPiece(std::string_view head, const std::string& bytes,
                     const std::vector<size_t>& starts, size_t begin) const {
    // No piece is longer than the longest one: the work per character is
    // bounded, however long the word is.
    const size_t limit = vocabulary_.longest_piece();
    std::vector<uint64_t> hashes;  // of the prefixes of 1, 2, ... characters
    uint64_t hash = head.empty() ? Vocabulary::kEmptyHash : prefix_hash_;
    for (size_t i = begin; i + 1 < starts.size(); ++i) {
      if (head.size() + starts[i + 1] - starts[begin] > limit) break;
      for (size_t b = starts[i]; b < starts[i + 1]; ++b) {
        hash = Vocabulary::Extend(hash, bytes[b]);
      }
      hashes.push_back(hash);
    }
    for (size_t n = hashes.size(); n > 0; --n) {
      const std::string_view tail = std::string_view(bytes).substr(
          starts[begin], starts[begin + n] - starts[begin]);
      const auto id = vocabulary_.Find(hashes[n - 1], head, tail);
      if (id) return {begin + n, *id};
    }
    return {begin, 0};
  }

  std::string unknown_piece_, prefix_;
  uint64_t prefix_hash_;
  Vocabulary vocabulary_;
  size_t longest_word_ = 0;
  int64_t unknown_id_ = 0;
};

}  // namespace

std::unique_ptr<TokenModel> MakeWordPiece(const PartSource& source) {
  return std::make_unique<WordPiece>(source);
}

}  // namespace regard::inline v0
