// The parts that a tokenizer.json puts together, and what each has to do.
//
//   text -> Normalizer -> PreTokenizer -> TokenModel -> PostProcessor -> tokens
//
// A new part is one file that implements its interface, and one line in
// part_list.cc.
#ifndef REGARD_SRC_TEXT_PARTS_H_
#define REGARD_SRC_TEXT_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "regard/tokenizer.h"
#include "text/aligned_text.h"

namespace regard::inline v0 {

class Json;

// Where a part is read from.
struct PartSource {
  const Json& json;   // an object
  std::string where;  // "tokenizer.json: normalizer", for messages
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void Apply(AlignedText* text) const = 0;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Cuts each range of `words` into smaller ones, in order; what lies in none
  // of them is dropped. May rewrite `text` on the way.
  virtual void Apply(AlignedText* text,
                     std::vector<CharRange>* words) const = 0;
};

// A token before offsets: characters [begin, end) of the text.
struct ModelToken {
  int64_t id = 0;
  std::string piece;
  CharRange chars;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of one word, which is not empty.
  virtual void Tokenize(const AlignedText& text, CharRange word,
                        std::vector<ModelToken>* tokens) const = 0;
  virtual int64_t VocabularySize() const = 0;
  virtual std::optional<int64_t> IdOf(std::string_view piece) const = 0;
  virtual bool HasId(int64_t id) const = 0;
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // How many tokens it adds of its own.
  virtual int64_t AddedTokens(bool pair) const = 0;
  // The tokens that it may add: piece and id.
  virtual std::vector<std::pair<std::string, int64_t>> SpecialTokens()
      const = 0;
  // Puts one or two sentences together, and sets their segments. Without
  // `add_special_tokens` nothing is inserted.
  virtual std::vector<Token> Join(std::vector<std::vector<Token>> sentences,
                                  bool add_special_tokens) const = 0;
};

// One entry per kind of part that this version knows.
template <typename Part>
struct PartEntry {
  const char* type;  // as tokenizer.json spells it
  std::unique_ptr<Part> (*make)(const PartSource& source);
};

std::unique_ptr<Normalizer> MakeBertNormalizer(const PartSource& source);
std::unique_ptr<PreTokenizer> MakeBertPreTokenizer(const PartSource& source);
std::unique_ptr<TokenModel> MakeWordPiece(const PartSource& source);
std::unique_ptr<PostProcessor> MakeTemplateProcessing(const PartSource& source);
std::unique_ptr<PostProcessor> MakeBertProcessing(const PartSource& source);
// What joins sentences where tokenizer.json has no post-processor.
std::unique_ptr<PostProcessor> MakePlainJoin();

// Member `key` of the part. Error (kFormat) when it is missing or of another
// kind.
const Json& Member(const PartSource& source, const char* key);
bool BoolMember(const PartSource& source, const char* key);
int64_t IntMember(const PartSource& source, const char* key);
const std::string& StringMember(const PartSource& source, const char* key);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_PARTS_H_
