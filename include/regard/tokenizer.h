// Text to tokens, as the checkpoint's own tokenizer.json says.
#ifndef REGARD_TOKENIZER_H_
#define REGARD_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::inline v0 {

struct Token {
  int64_t id = 0;
  // As the vocabulary spells it: "##ing", "[CLS]". For an added token found in
  // the text, what was matched, with the whitespace that it takes.
  std::string piece;
  // Code points [begin, end) of its own sentence; 0, 0 when the template
  // inserted it.
  int64_t begin = 0, end = 0;
  int sentence = -1;     // index into Encoding::texts; -1 for an inserted one
  int segment = 0;       // the token type that models read: for BERT 0 in the
                         // first sentence and the [SEP] after it, 1 behind
  bool special = false;  // inserted by the template
  int64_t word = -1;     // pre-token it comes from, counted per sentence; -1
                         // for an inserted one
};

struct Encoding {
  std::vector<Token> tokens;
  // The repaired texts that the offsets count in (one, or two for a pair).
  std::vector<std::string> texts;
  bool repaired = false;  // an invalid UTF-8 part became U+FFFD
  int64_t truncated = 0;  // tokens that were cut off
};

struct EncodeOptions {
  // Longest encoding allowed, template tokens included; unset: any length.
  std::optional<int64_t> max_length;
  bool truncate = false;  // cut on the right (of a pair: the longer one first);
                          // false: a longer text is an Error (kUsage)
  // Tokens of the template ([CLS], [SEP]) around the text.
  bool add_special_tokens = true;
};

class Tokenizer {
 public:
  // Reads tokenizer.json; its sections "truncation" and "padding" are not used.
  // Error (kFile, kFormat), or (kUnsupported) naming the part that this version
  // does not know.
  static Tokenizer Load(const std::string& path);
  // The same from its text; `name` stands in messages.
  static Tokenizer Parse(std::string_view json, const std::string& name);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  Encoding Encode(std::string_view text,
                  std::optional<std::string_view> pair = std::nullopt,
                  const EncodeOptions& options = {}) const;

  int64_t vocabulary_size() const;
  std::optional<int64_t> IdOf(std::string_view piece) const;
  // "BertNormalizer, BertPreTokenizer, WordPiece, 30522 pieces"
  std::string Describe() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A run of tokens [first, last], both inclusive.
struct TokenSpan {
  int64_t first = 0, last = 0;
  std::string text;  // how it was asked for
};

// Finds what `name` means in an encoding:
//   it       a word, or any part of the text that begins and ends where tokens
//            do; compared after case folding and NFC with the original text
//   it#2     its second occurrence, from 1, left to right, first sentence first
//   b:it     in the second sentence
//   [CLS]    a token that the template inserted
//   ##ing    a label (see TokenLabels), where the text holds nothing like it
//   @8 @8-10 token indexes from 0
//   text:@8  taken literally
// A sign # belongs to the word (C#, C##2) unless it numbers an occurrence that
// exists: C#2 is the second C, in a text with one C the characters "C#2".
//
// Error (kUsage): no such text (shows the pieces when it stands inside tokens),
// several occurrences without number (lists them), an index that does not
// exist.
TokenSpan FindSpan(const Encoding& encoding, std::string_view name);

// One label per token as axes print it: its piece, signs for spaces of other
// tokenizers as spaces, newlines and controls visible. Labels that mean several
// places are numbered in the form FindSpan reads (the#2): a label leads back to
// its token, except for one of nothing but spaces.
std::vector<std::string> TokenLabels(const Encoding& encoding);

}  // namespace regard::inline v0

#endif  // REGARD_TOKENIZER_H_
