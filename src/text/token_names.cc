#include "text/token_names.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/utf8.h"
#include "text/reference_unicode.h"

namespace regard::inline v0 {

namespace {

// What a number stands for that is larger than any.
constexpr int64_t kBeyondAll = std::numeric_limits<int64_t>::max();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The range without whitespace at its ends; as it is when there is nothing
// else in it.
CharRange WithoutSpaces(std::u32string_view text, CharRange range) {
  CharRange out = range;
  while (out.begin < out.end &&
         reference_unicode::IsWhitespace(text[out.begin])) {
    ++out.begin;
  }
  while (out.begin < out.end &&
         reference_unicode::IsWhitespace(text[out.end - 1])) {
    --out.end;
  }
  return out.begin < out.end ? out : range;
}

// Control characters by their pictures, newline by the sign on its key.
char32_t Visible(char32_t c) {
  if (c == '\n') return U'\u23CE';
  if (c < 0x20) return 0x2400 + c;
  if (c == 0x7F) return 0x2421;
  return c;
}

std::string LabelOf(const Encoding& encoding, const Token& token) {
  constexpr char32_t kByteLevelSpace = U'\u0120', kByteLevelNewline = U'\u010A';
  constexpr char32_t kMetaspace = U'\u2581';
  std::u32string label = Decode(token.piece).chars;
  // Signs of other tokenizers for space and newline; letters and signs of their
  // own where the text has them.
  std::u32string own;
  if (token.sentence >= 0 &&
      label.find_first_of(U"\u0120\u010A\u2581") != std::u32string::npos) {
    own = Decode(encoding.texts[token.sentence])
              .chars.substr(token.begin, token.end - token.begin);
  }
  std::string out;
  for (char32_t c : label) {
    if (own.find(c) == std::u32string::npos) {
      if (c == kByteLevelSpace || c == kMetaspace) c = U' ';
      if (c == kByteLevelNewline) c = '\n';
    }
    AppendUtf8(out, Visible(c));
  }
  return out;
}

}  // namespace

NamedSentence::NamedSentence(const Encoding& encoding, int sentence) {
  const std::u32string text = Decode(encoding.texts[sentence]).chars;
  cuts_token_.resize(text.size() + 1);
  for (size_t i = 0; i < encoding.tokens.size(); ++i) {
    const Token& token = encoding.tokens[i];
    if (token.sentence != sentence) continue;
    if (tokens_.empty()) first_token_ = static_cast<int64_t>(i);
    const CharRange range = WithoutSpaces(
        text,
        {static_cast<size_t>(token.begin), static_cast<size_t>(token.end)});
    tokens_.push_back(range);
    for (size_t cut = range.begin + 1; cut < range.end; ++cut) {
      cuts_token_[cut] = true;
    }
  }
  text_ = Fold(text);
}

TokenRun NamedSentence::Overlapping(int64_t begin, int64_t end) const {
  const auto first = std::partition_point(
      tokens_.begin(), tokens_.end(), [begin](const CharRange& token) {
        return static_cast<int64_t>(token.end) <= begin;
      });
  const auto behind =
      std::partition_point(first, tokens_.end(), [end](const CharRange& token) {
        return static_cast<int64_t>(token.begin) < end;
      });
  return {first_token_ + (first - tokens_.begin()),
          first_token_ + (behind - tokens_.begin()) - 1};
}

void NamedSentence::AddPlace(size_t position, size_t length,
                             Places* places) const {
  const size_t last = position + length - 1;
  const int64_t begin = text_.begin[position], end = text_.end[last];
  const TokenRun run = Overlapping(begin, end);
  if (run.first > run.last) {
    ++places->without_tokens;
  } else if (!text_.StartsUnit(position) || !text_.EndsUnit(last) ||
             cuts_token_[begin] || cuts_token_[end]) {
    places->inside.push_back(run);
  } else {
    places->on_edges.push_back(run);
  }
}

NamedSentence::Places NamedSentence::Find(const std::u32string& key) const {
  Places places;
  if (key.empty()) return places;
  for (size_t i = text_.chars.find(key); i != std::u32string::npos;
       i = text_.chars.find(key, i + 1)) {
    AddPlace(i, key.size(), &places);
  }
  return places;
}

void NamedSentence::FindAll(const std::vector<size_t>& lengths,
                            RunsByKey* runs) const {
  for (size_t i = 0; i < text_.chars.size(); ++i) {
    if (!text_.StartsUnit(i) || cuts_token_[text_.begin[i]]) continue;
    for (const size_t length : lengths) {
      if (length > text_.chars.size() - i) continue;
      const auto key = runs->find(text_.chars.substr(i, length));
      if (key == runs->end()) continue;
      Places places;
      AddPlace(i, length, &places);
      key->second.insert(key->second.end(), places.on_edges.begin(),
                         places.on_edges.end());
    }
  }
}

TokenNames::TokenNames(const Encoding& encoding) : encoding_(encoding) {
  for (size_t i = 0; i < encoding.texts.size(); ++i) {
    sentences_.emplace_back(encoding, static_cast<int>(i));
  }
  for (const Token& token : encoding.tokens) {
    labels_.push_back(LabelOf(encoding, token));
    keys_.push_back(FoldedKey(labels_.back()));
  }
}

TokenNames::Candidates TokenNames::Complete(
    std::vector<TokenRun> text, const std::vector<size_t>& tokens) const {
  Candidates out;
  for (const size_t i : tokens) {
    const int64_t index = static_cast<int64_t>(i);
    if (encoding_.tokens[i].special) text.push_back({index, index});
  }
  std::sort(text.begin(), text.end());
  text.erase(std::unique(text.begin(), text.end()), text.end());
  for (const size_t i : tokens) {
    const TokenRun run{static_cast<int64_t>(i), static_cast<int64_t>(i)};
    if (!std::binary_search(text.begin(), text.end(), run)) {
      out.labels.push_back(run);
    }
  }
  out.text = std::move(text);
  return out;
}

TokenNames::Candidates TokenNames::Find(const std::u32string& key) const {
  std::vector<TokenRun> text;
  for (const NamedSentence& sentence : sentences_) {
    const auto runs = sentence.Find(key).on_edges;
    text.insert(text.end(), runs.begin(), runs.end());
  }
  std::vector<size_t> tokens;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key) tokens.push_back(i);
  }
  return Complete(std::move(text), tokens);
}

std::unordered_map<std::u32string, TokenNames::Candidates>
TokenNames::FindLabels() const {
  NamedSentence::RunsByKey runs;
  std::unordered_map<std::u32string, std::vector<size_t>> tokens;
  std::vector<size_t> lengths;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].empty()) continue;
    runs.try_emplace(keys_[i]);
    tokens[keys_[i]].push_back(i);
    lengths.push_back(keys_[i].size());
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  for (const NamedSentence& sentence : sentences_) {
    sentence.FindAll(lengths, &runs);
  }
  std::unordered_map<std::u32string, Candidates> out;
  for (auto& [key, text] : runs) {
    out.emplace(key, Complete(std::move(text), tokens[key]));
  }
  return out;
}

NumberedName SplitNumber(std::string_view name) {
  const size_t sign = name.rfind('#');
  if (sign == std::string_view::npos || sign == 0) return {name, 0};
  const std::string_view digits = name.substr(sign + 1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), IsDigit)) {
    return {name, 0};
  }
  int64_t number = 0;
  const auto result =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (result.ec != std::errc()) number = kBeyondAll;
  return {name.substr(0, sign), digits[0] == '0' ? 0 : number};
}

std::optional<TokenRun> ParseIndexes(std::string_view name) {
  if (name.empty() || name[0] != '@') return std::nullopt;
  const char* end = name.data() + name.size();
  const auto number = [end](const char* at, int64_t* value) -> const char* {
    if (at == end || !IsDigit(*at)) return nullptr;
    const auto result = std::from_chars(at, end, *value);
    if (result.ec != std::errc()) *value = kBeyondAll;
    return result.ptr;
  };
  TokenRun run;
  const char* at = number(name.data() + 1, &run.first);
  if (at == nullptr) return std::nullopt;
  run.last = run.first;
  if (at == end) return run;
  if (*at != '-' || number(at + 1, &run.last) != end) return std::nullopt;
  return run;
}

}  // namespace regard::inline v0
