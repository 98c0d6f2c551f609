// What a name means: an index, an occurrence of a text, or a label.
#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "regard/error.h"
#include "regard/tokenizer.h"
#include "text/token_names.h"

namespace regard::inline v0 {

namespace {

constexpr size_t kListed = 10;  // entries of a list inside one line

std::string Quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string Indexes(const TokenRun& run) {
  std::string out = "@" + std::to_string(run.first);
  if (run.last != run.first) out += "-" + std::to_string(run.last);
  return out;
}

// A name after its prefixes.
struct Request {
  std::string_view asked;  // as typed, for messages
  std::string_view text;   // without prefixes
  bool second_sentence = false;
  bool literal = false;
};

class SpanFinder {
 public:
  SpanFinder(const TokenNames& names, const Request& request)
      : names_(names), request_(request) {}

  TokenRun Find() const {
    const NumberedName numbered = SplitNumber(request_.text);
    // "it#2" is the second "it"; only where there is none, a text with "#2" in
    // it. A literal text is the other way round.
    if (request_.literal) {
      if (auto run = Bare(request_.text)) return *run;
      if (auto run = Numbered(numbered)) return *run;
    } else {
      if (auto run = Numbered(numbered)) return *run;
      if (auto run = Bare(request_.text)) return *run;
    }
    Fail(numbered);
  }

 private:
  bool Allowed(const TokenRun& run) const {
    const bool inserted = names_.encoding().tokens[run.first].special;
    if (request_.literal && inserted) return false;
    if (!request_.second_sentence) return true;
    const NamedSentence& second = names_.sentences()[1];
    return inserted ? run.first >= second.first_token() : second.Holds(run);
  }

  TokenNames::Candidates Candidates(std::string_view name) const {
    TokenNames::Candidates all = names_.Find(FoldedKey(name));
    for (std::vector<TokenRun>* runs : {&all.text, &all.labels}) {
      std::erase_if(*runs,
                    [this](const TokenRun& run) { return !Allowed(run); });
    }
    return all;
  }

  std::optional<TokenRun> Numbered(const NumberedName& name) const {
    if (name.number == 0) return std::nullopt;
    const auto candidates = Candidates(name.base);
    if (name.number > static_cast<int64_t>(candidates.size())) {
      return std::nullopt;
    }
    return candidates[name.number - 1];
  }

  std::optional<TokenRun> Bare(std::string_view name) const {
    const auto candidates = Candidates(name);
    const auto& runs =
        candidates.text.empty() ? candidates.labels : candidates.text;
    if (runs.empty()) return std::nullopt;
    if (runs.size() > 1) FailAmbiguous(name, candidates);
    return runs[0];
  }

  [[noreturn]] void FailAmbiguous(
      std::string_view name, const TokenNames::Candidates& candidates) const {
    std::vector<std::string> places;
    const size_t count = candidates.text.empty() ? candidates.labels.size()
                                                 : candidates.text.size();
    for (size_t i = 0; i < std::min(count, kListed); ++i) {
      places.push_back(Prefix() + std::string(name) + "#" +
                       std::to_string(i + 1) + " (" + Indexes(candidates[i]) +
                       ")");
    }
    if (count > kListed) places.push_back("...");
    throw Error(
        ErrorKind::kUsage, Quoted(request_.asked),
        "occurs " + std::to_string(count) + " times: " + Join(places),
        "say which one, as in " + Quoted(Prefix() + std::string(name) + "#1"));
  }

  // The prefixes that were asked for.
  std::string Prefix() const {
    return std::string(
        request_.asked.substr(0, request_.asked.size() - request_.text.size()));
  }

  [[noreturn]] void Fail(const NumberedName& numbered) const {
    if (numbered.base != request_.text) {
      const size_t count = Candidates(numbered.base).size();
      if (count > 0) {
        throw Error(
            ErrorKind::kUsage, Quoted(request_.asked),
            Quoted(numbered.base) + " occurs " +
                (count == 1 ? "once" : std::to_string(count) + " times"),
            "occurrences count from 1, left to right");
      }
    }
    const NamedSentence::Places places = PlacesOf(request_.text);
    if (!places.inside.empty()) FailInside(places.inside);
    if (places.without_tokens > 0) {
      const int64_t cut = names_.encoding().truncated;
      throw Error(ErrorKind::kUsage, Quoted(request_.asked),
                  cut > 0 ? "stands only in the part of the text that was cut "
                            "off (" +
                                std::to_string(cut) + " tokens)"
                          : "stands in the text, but no token was made of it");
    }
    FailAbsent();
  }

  NamedSentence::Places PlacesOf(std::string_view name) const {
    const std::u32string key = FoldedKey(name);
    NamedSentence::Places all;
    for (size_t i = request_.second_sentence ? 1 : 0;
         i < names_.sentences().size(); ++i) {
      const auto places = names_.sentences()[i].Find(key);
      all.inside.insert(all.inside.end(), places.inside.begin(),
                        places.inside.end());
      all.without_tokens += places.without_tokens;
    }
    return all;
  }

  [[noreturn]] void FailInside(const std::vector<TokenRun>& runs) const {
    std::vector<std::string> places;
    for (size_t i = 0; i < std::min(runs.size(), kListed); ++i) {
      std::vector<std::string> pieces;
      for (int64_t t = runs[i].first; t <= runs[i].last; ++t) {
        pieces.push_back(names_.BaseLabel(t));
      }
      places.push_back(Join(pieces, " ") + " (" + Indexes(runs[i]) + ")");
    }
    if (runs.size() > kListed) places.push_back("...");
    throw Error(
        ErrorKind::kUsage, Quoted(request_.asked),
        "does not begin and end where tokens do; it stands in " + Join(places),
        "name whole tokens, as in " + Quoted(Indexes(runs[0])));
  }

  [[noreturn]] void FailAbsent() const {
    const bool pair = names_.sentences().size() > 1;
    if (!pair && request_.asked.starts_with(kSecondSentencePrefix)) {
      throw Error(ErrorKind::kUsage, Quoted(request_.asked),
                  "there is no second sentence",
                  "leave the b: out, or give a pair of texts");
    }
    std::vector<std::string> labels;
    for (size_t i = 0; i < names_.encoding().tokens.size(); ++i) {
      labels.push_back(names_.BaseLabel(i));
    }
    const std::string nearest = Nearest(std::string(request_.text), labels);
    std::string hint = "did you mean " + Quoted(Prefix() + nearest) + "?";
    if (nearest.empty()) {
      const bool cut = labels.size() > 2 * kListed;
      if (cut) labels.resize(2 * kListed);
      hint = "the tokens are " + Join(labels, " ") + (cut ? " ..." : "");
    }
    throw Error(ErrorKind::kUsage, Quoted(request_.asked),
                request_.second_sentence ? "is not in the second sentence"
                                         : "is not in the text",
                hint);
  }

  const TokenNames& names_;
  const Request& request_;
};

TokenRun CheckedIndexes(const TokenRun& run, std::string_view name,
                        size_t tokens) {
  const int64_t count = static_cast<int64_t>(tokens);
  if (run.last < run.first) {
    throw Error(ErrorKind::kUsage, Quoted(name), "the range runs backwards",
                "write the smaller index first");
  }
  if (run.last >= count) {
    // As typed: it may be longer than any number.
    const std::string_view numbers = name.substr(1);
    const std::string_view missing = run.first < count
                                         ? numbers.substr(numbers.find('-') + 1)
                                         : numbers.substr(0, numbers.find('-'));
    throw Error(ErrorKind::kUsage, Quoted(name),
                "there is no token " + std::string(missing) + ", only " +
                    (count == 0 ? "an empty text"
                                : "0 to " + std::to_string(count - 1)));
  }
  return run;
}

// Takes the prefixes off.
Request ReadRequest(std::string_view name, bool pair) {
  Request request{name, name};
  const auto take = [&request](std::string_view prefix) {
    if (request.text.size() <= prefix.size() ||
        !request.text.starts_with(prefix)) {
      return false;
    }
    request.text.remove_prefix(prefix.size());
    return true;
  };
  if (pair) request.second_sentence = take(kSecondSentencePrefix);
  request.literal = take(kLiteralPrefix);
  return request;
}

}  // namespace

TokenSpan FindSpan(const Encoding& encoding, std::string_view name) {
  if (FoldedKey(name).empty()) {
    throw Error(ErrorKind::kUsage, Quoted(name), "an empty name names no token",
                "name a word of the text, or an index as in \"@1\"");
  }
  TokenRun run;
  if (const auto indexes = ParseIndexes(name)) {
    run = CheckedIndexes(*indexes, name, encoding.tokens.size());
  } else {
    const TokenNames names(encoding);
    const Request request = ReadRequest(name, encoding.texts.size() > 1);
    run = SpanFinder(names, request).Find();
  }
  return {run.first, run.last, std::string(name)};
}

}  // namespace regard::inline v0
