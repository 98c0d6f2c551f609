#include "text/added_tokens.h"

#include <algorithm>
#include <unordered_set>

#include "io/json.h"
#include "regard/error.h"
#include "text/reference_unicode.h"

namespace regard::inline v0 {

namespace {

namespace unicode = reference_unicode;

AddedToken ReadToken(const PartSource& source) {
  AddedToken token;
  token.content = StringMember(source, "content");
  token.id = IntMember(source, "id");
  token.single_word = BoolMember(source, "single_word");
  token.lstrip = BoolMember(source, "lstrip");
  token.rstrip = BoolMember(source, "rstrip");
  token.normalized = BoolMember(source, "normalized");
  BoolMember(source, "special");
  return token;
}

AlignedText FromChars(std::u32string chars) {
  AlignedText text;
  text.origin.resize(chars.size());
  text.chars = std::move(chars);
  return text;
}

}  // namespace

void AddedTokenMatcher::Add(std::u32string_view spelling,
                            const AddedToken& token) {
  uint32_t node = 0;
  for (const char32_t c : spelling) {
    const auto [edge, is_new] =
        edges_.try_emplace(Edge(node, c), static_cast<uint32_t>(ends_.size()));
    if (is_new) ends_.push_back(kNone);
    node = edge->second;
  }
  if (ends_[node] != kNone) return;
  ends_[node] = tokens_.size();
  tokens_.push_back(token);
  if (spelling[0] < starts_.size()) {
    starts_[spelling[0]] = true;
  } else {
    starts_beyond_ascii_ = true;
  }
}

AddedTokenMatcher::Match AddedTokenMatcher::LongestAt(std::u32string_view text,
                                                      size_t begin) const {
  const char32_t first = text[begin];
  const bool possible =
      first < starts_.size() ? starts_[first] : starts_beyond_ascii_;
  Match match;
  if (!possible) return match;
  uint32_t node = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const auto edge = edges_.find(Edge(node, text[i]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (ends_[node] != kNone) match = {i + 1 - begin, &tokens_[ends_[node]]};
  }
  return match;
}

std::optional<CharRange> AddedTokenMatcher::Extent(std::u32string_view text,
                                                   size_t begin,
                                                   const Match& match,
                                                   size_t taken) const {
  size_t end = begin + match.length;
  if (match.token->single_word) {
    const bool left = begin > 0 && unicode::IsWordCharacter(text[begin - 1]);
    const bool right = end < text.size() && unicode::IsWordCharacter(text[end]);
    if (left || right) return std::nullopt;
  }
  if (match.token->lstrip) {
    while (begin > taken && unicode::IsWhitespace(text[begin - 1])) --begin;
  }
  if (match.token->rstrip) {
    while (end < text.size() && unicode::IsWhitespace(text[end])) ++end;
  }
  return CharRange{begin, end};
}

std::vector<AddedTokenMatcher::Part> AddedTokenMatcher::Split(
    std::u32string_view text) const {
  std::vector<Part> parts;
  size_t taken = 0;  // everything before it is in `parts`
  for (size_t i = 0; i < text.size();) {
    const Match match = LongestAt(text, i);
    if (match.length == 0) {
      ++i;
      continue;
    }
    const auto extent = Extent(text, i, match, taken);
    i += match.length;
    if (!extent) continue;
    if (taken < extent->begin)
      parts.push_back({nullptr, {taken, extent->begin}});
    parts.push_back({match.token, *extent});
    taken = extent->end;
    i = taken;
  }
  if (taken < text.size()) parts.push_back({nullptr, {taken, text.size()}});
  return parts;
}

AddedTokens::AddedTokens(const Json& json, const std::string& where,
                         const TokenModel& model,
                         const Normalizer* normalizer) {
  if (json.IsNull()) return;
  std::unordered_set<std::string> seen;
  std::vector<AddedToken> tokens;
  for (const Json& entry : json.AsArray(where)) {
    const AddedToken token = ReadToken({entry, where});
    if (token.content.empty()) continue;
    if (!seen.insert(token.content).second) {
      throw Error(ErrorKind::kFormat, where,
                  "\"" + token.content + "\" stands in it twice");
    }
    CheckId(token, where, model);
    std::u32string spelling = Decode(token.content).chars;
    if (!token.normalized) {
      verbatim_.Add(spelling, token);
      continue;
    }
    AlignedText text = FromChars(std::move(spelling));
    if (normalizer != nullptr) normalizer->Apply(&text);
    if (text.chars.empty()) {
      throw Error(ErrorKind::kUnsupported, where,
                  "\"" + token.content +
                      "\" is compared after normalization, which leaves "
                      "nothing of it");
    }
    normalized_.Add(text.chars, token);
  }
}

void AddedTokens::CheckId(const AddedToken& token, const std::string& where,
                          const TokenModel& model) {
  const std::optional<int64_t> known = model.IdOf(token.content);
  // New tokens are numbered as the reference does, whatever the file says.
  const int64_t expected =
      known ? *known : std::max(model.VocabularySize(), largest_id_ + 1);
  if (token.id != expected || (!known && model.HasId(token.id))) {
    throw Error(ErrorKind::kFormat, where,
                "\"" + token.content + "\" has the id " +
                    std::to_string(token.id) + ", but " +
                    (known ? "the vocabulary gives it " : "the next one is ") +
                    std::to_string(expected));
  }
  if (!known) new_ids_.emplace(token.content, token.id);
  largest_id_ = std::max(largest_id_, token.id);
}

std::optional<int64_t> AddedTokens::IdOf(const std::string& content) const {
  const auto it = new_ids_.find(content);
  if (it == new_ids_.end()) return std::nullopt;
  return it->second;
}

bool AddedTokens::HasId(int64_t id) const {
  return std::any_of(new_ids_.begin(), new_ids_.end(),
                     [id](const auto& entry) { return entry.second == id; });
}

}  // namespace regard::inline v0
