// An input that begins with { is read as a tokenizer.json, and encodes a fixed
// text. Any other is split at bytes 0xFF into a text, a second one (when there
// are three parts) and a name of tokens, for a tokenizer of our own.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "regard/error.h"
#include "regard/tokenizer.h"

namespace {

using regard::Encoding;
using regard::Error;
using regard::ErrorKind;
using regard::Token;
using regard::Tokenizer;

int64_t CodePoints(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (c & 0xC0) != 0x80; });
}

void CheckEncoding(const Encoding& encoding) {
  std::vector<int64_t> begin(encoding.texts.size());
  for (const Token& token : encoding.tokens) {
    Require(token.special == (token.sentence < 0));
    if (token.special) continue;
    Require(token.begin >= begin[token.sentence] && token.begin < token.end);
    Require(token.end <= CodePoints(encoding.texts[token.sentence]));
    begin[token.sentence] = token.begin;
  }
}

void ReadTokenizer(std::string_view json) {
  try {
    const Tokenizer tokenizer = Tokenizer::Parse(json, "tokenizer.json");
    CheckEncoding(tokenizer.Encode("The animal [MASK] \u6771\u00E9 #1", "b b"));
  } catch (const Error& error) {
    Require(error.kind() == ErrorKind::kFormat ||
            error.kind() == ErrorKind::kUnsupported);
  }
}

void Name(const Encoding& encoding, std::string_view name) {
  try {
    const auto span = FindSpan(encoding, name);
    Require(0 <= span.first && span.first <= span.last);
    Require(span.last < static_cast<int64_t>(encoding.tokens.size()));
  } catch (const Error& error) {
    Require(error.kind() == ErrorKind::kUsage);
  }
}

void UseTokenizer(std::string_view input) {
  static const Tokenizer tokenizer = Tokenizer::Load(
      REGARD_SOURCE_DIR "/tests/golden/tokenizer/fixture_bert.json");
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = std::min(input.find('\xFF'), input.size());
    parts.push_back(input.substr(0, end));
    if (end == input.size()) break;
    input.remove_prefix(end + 1);
  }
  const Encoding encoding = parts.size() > 2
                                ? tokenizer.Encode(parts[0], parts[1])
                                : tokenizer.Encode(parts[0]);
  CheckEncoding(encoding);
  if (parts.size() > 1) Name(encoding, parts.back());
  const std::vector<std::string> labels = TokenLabels(encoding);
  for (size_t i = 0; i < std::min<size_t>(labels.size(), 5); ++i) {
    const auto span = FindSpan(encoding, labels[i]);
    Require(span.first == static_cast<int64_t>(i) && span.last == span.first);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('{')) {
    ReadTokenizer(input);
  } else {
    UseTokenizer(input);
  }
  return 0;
}
