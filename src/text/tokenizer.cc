#include "regard/tokenizer.h"

#include <string>
#include <utility>

#include "io/file.h"
#include "io/json.h"
#include "regard/error.h"
#include "text/added_tokens.h"
#include "text/part_list.h"
#include "text/truncation.h"

namespace regard::inline v0 {

struct Tokenizer::State {
  State(const Json& json, const std::string& name)
      : parts(MakeParts(json, name)),
        added(Section(json, "added_tokens"), name + ": added_tokens",
              *parts.model, parts.normalizer.get()) {
    CheckTemplate(name);
  }

  static const Json& Section(const Json& json, const char* key) {
    static const Json none;
    const Json* section = json.Find(key);
    return section != nullptr ? *section : none;
  }
  void CheckTemplate(const std::string& name) const;

  std::vector<Token> Tokenize(const std::u32string& chars, int sentence) const;
  void TokenizePlain(AlignedText text, std::vector<Token>* tokens) const;
  void TokenizeWords(AlignedText text, std::vector<Token>* tokens) const;

  TokenizerParts parts;
  AddedTokens added;
};

namespace {

constexpr char kVersion[] = "1.0";

void CheckVersion(const Json& json, const std::string& name) {
  json.AsObject(name);
  const Json* version = json.Find("version");
  if (version == nullptr) return;
  const std::string& text = version->AsString(name + ": version");
  if (text != kVersion) {
    throw Error(ErrorKind::kUnsupported, name,
                "version " + text + " is not supported",
                std::string("this version knows ") + kVersion);
  }
}

int64_t NextWord(const std::vector<Token>& tokens) {
  return tokens.empty() ? 0 : tokens.back().word + 1;
}

AlignedText Slice(const AlignedText& text, CharRange range) {
  AlignedText out;
  out.chars = text.chars.substr(range.begin, range.end - range.begin);
  out.origin.assign(text.origin.begin() + range.begin,
                    text.origin.begin() + range.end);
  return out;
}

Token MakeToken(int64_t id, std::string piece, const AlignedText& text,
                CharRange range, int64_t word) {
  Token token;
  token.id = id;
  token.piece = std::move(piece);
  token.begin = text.origin[range.begin];
  token.end = text.origin[range.end - 1] + 1;
  token.word = word;
  return token;
}

Token MakeAddedToken(const AddedTokenMatcher::Part& part,
                     const AlignedText& text, int64_t word) {
  const auto [begin, end] = part.chars;
  return MakeToken(
      part.token->id,
      Encode(std::u32string_view(text.chars).substr(begin, end - begin)), text,
      part.chars, word);
}

}  // namespace

void Tokenizer::State::CheckTemplate(const std::string& name) const {
  for (const auto& [piece, id] : parts.post_processor->SpecialTokens()) {
    if (parts.model->HasId(id) || added.HasId(id)) continue;
    throw Error(ErrorKind::kFormat, name + ": post_processor",
                "\"" + piece + "\" has the id " + std::to_string(id) +
                    ", which is not in the vocabulary");
  }
}

std::vector<Token> Tokenizer::State::Tokenize(const std::u32string& chars,
                                              int sentence) const {
  AlignedText text;
  text.chars = chars;
  text.origin.resize(chars.size());
  for (size_t i = 0; i < chars.size(); ++i) {
    text.origin[i] = static_cast<int64_t>(i);
  }
  std::vector<Token> tokens;
  for (const auto& part : added.verbatim().Split(text.chars)) {
    if (part.token != nullptr) {
      tokens.push_back(MakeAddedToken(part, text, NextWord(tokens)));
    } else {
      TokenizePlain(Slice(text, part.chars), &tokens);
    }
  }
  for (Token& token : tokens) token.sentence = sentence;
  return tokens;
}

// Text without verbatim added tokens.
void Tokenizer::State::TokenizePlain(AlignedText text,
                                     std::vector<Token>* tokens) const {
  if (parts.normalizer != nullptr) parts.normalizer->Apply(&text);
  for (const auto& part : added.normalized().Split(text.chars)) {
    if (part.token != nullptr) {
      tokens->push_back(MakeAddedToken(part, text, NextWord(*tokens)));
    } else {
      TokenizeWords(Slice(text, part.chars), tokens);
    }
  }
}

// Normalized text without added tokens.
void Tokenizer::State::TokenizeWords(AlignedText text,
                                     std::vector<Token>* tokens) const {
  std::vector<CharRange> words = {{0, text.size()}};
  if (parts.pre_tokenizer != nullptr) parts.pre_tokenizer->Apply(&text, &words);
  std::vector<ModelToken> pieces;
  int64_t word_index = NextWord(*tokens);
  for (const CharRange& word : words) {
    pieces.clear();
    parts.model->Tokenize(text, word, &pieces);
    for (ModelToken& piece : pieces) {
      tokens->push_back(MakeToken(piece.id, std::move(piece.piece), text,
                                  piece.chars, word_index));
    }
    ++word_index;
  }
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::Load(const std::string& path) {
  const MappedFile file = MappedFile::Open(path);
  return Parse({reinterpret_cast<const char*>(file.data()), file.size()}, path);
}

Tokenizer Tokenizer::Parse(std::string_view text, const std::string& name) {
  const Json json = Json::Parse(text, name);
  CheckVersion(json, name);
  return Tokenizer(std::make_unique<State>(json, name));
}

namespace {

// Cuts the sentences so that `added` more tokens fit `options.max_length`.
// Returns how many tokens were cut off.
int64_t FitLength(const EncodeOptions& options, int64_t added,
                  std::vector<std::vector<Token>>* sentences) {
  if (!options.max_length) return 0;
  const int64_t limit = *options.max_length;
  if (limit < added) {
    throw Error(ErrorKind::kUsage, "text",
                "at most " + std::to_string(limit) +
                    " tokens are allowed, but the template alone has " +
                    std::to_string(added),
                "allow more");
  }
  const auto length = [&](size_t i) {
    return i < sentences->size() ? static_cast<int64_t>((*sentences)[i].size())
                                 : 0;
  };
  const int64_t total = length(0) + length(1) + added;
  if (total <= limit) return 0;
  if (!options.truncate) {
    throw Error(ErrorKind::kUsage, "text",
                "it has " + std::to_string(total) + " tokens, but at most " +
                    std::to_string(limit) + " are allowed",
                "shorten it, or let it be cut on the right (--truncate)");
  }
  const auto [first, second] = KeptTokens(length(0), length(1), limit - added);
  (*sentences)[0].resize(first);
  if (sentences->size() > 1) (*sentences)[1].resize(second);
  return total - limit;
}

}  // namespace

Encoding Tokenizer::Encode(std::string_view text,
                           std::optional<std::string_view> pair,
                           const EncodeOptions& options) const {
  Encoding encoding;
  std::vector<std::vector<Token>> sentences;
  for (const auto& sentence : {std::optional(text), pair}) {
    if (!sentence) continue;
    const DecodedText decoded = Decode(*sentence);
    encoding.repaired |= decoded.repaired;
    encoding.texts.push_back(decoded.repaired ? regard::Encode(decoded.chars)
                                              : std::string(*sentence));
    sentences.push_back(
        state_->Tokenize(decoded.chars, static_cast<int>(sentences.size())));
  }
  const PostProcessor& post_processor = *state_->parts.post_processor;
  const int64_t added = options.add_special_tokens
                            ? post_processor.AddedTokens(pair.has_value())
                            : 0;
  encoding.truncated = FitLength(options, added, &sentences);
  encoding.tokens =
      post_processor.Join(std::move(sentences), options.add_special_tokens);
  return encoding;
}

int64_t Tokenizer::vocabulary_size() const {
  return state_->parts.model->VocabularySize() + state_->added.size();
}

std::optional<int64_t> Tokenizer::IdOf(std::string_view piece) const {
  const auto id = state_->added.IdOf(std::string(piece));
  return id ? id : state_->parts.model->IdOf(piece);
}

std::string Tokenizer::Describe() const {
  return state_->parts.description + ", " + std::to_string(vocabulary_size()) +
         " pieces";
}

}  // namespace regard::inline v0
