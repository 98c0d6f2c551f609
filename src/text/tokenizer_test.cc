#include "regard/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/json.h"
#include "regard/error.h"
#include "text/test_data.h"
#include "text/truncation.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Pieces(const Encoding& encoding) {
  std::vector<std::string> pieces;
  for (const Token& token : encoding.tokens) pieces.push_back(token.piece);
  return pieces;
}

// The kind and message of the Error that `act` throws.
std::pair<ErrorKind, std::string> ErrorOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

std::string FixtureText() { return ReadText(GoldenPath("fixture_bert.json")); }

// The fixture with `from` replaced, which must stand in it.
std::string Changed(const std::string& from, const std::string& to) {
  std::string text = FixtureText();
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

// The fixture with one section replaced or added.
std::string WithSection(const std::string& section, const std::string& value) {
  Json changed{Json::Object()};
  const Json fixture = Json::Parse(FixtureText(), "fixture");
  for (const auto& [key, json] : fixture.AsObject("")) {
    if (key != section) changed.Set(key, json);
  }
  changed.Set(section, Json::Parse(value, "section"));
  return changed.Dump();
}

void ExpectRefused(const std::string& text, ErrorKind kind,
                   const std::string& message) {
  const auto [found, what] =
      ErrorOf([&] { Tokenizer::Parse(text, "tokenizer.json"); });
  EXPECT_EQ(found, kind) << what;
  EXPECT_THAT(what, AllOf(HasSubstr("tokenizer.json"), HasSubstr(message)));
}
void ExpectBroken(const std::string& text, const std::string& message) {
  ExpectRefused(text, ErrorKind::kFormat, message);
}

TEST(Tokenizer, OneSentence) {
  const Tokenizer tokenizer = Tokenizer::Load(GoldenPath("fixture_bert.json"));
  const Encoding e = tokenizer.Encode("The unwanted [MASK]");
  EXPECT_THAT(Pieces(e), ElementsAre("[CLS]", "the", "un", "##want", "##ed",
                                     "[MASK]", "[SEP]"));
  EXPECT_TRUE(e.tokens[0].special);
  EXPECT_EQ(e.tokens[0].sentence, -1);
  EXPECT_EQ(e.tokens[0].word, -1);
  // Typed in the text: an ordinary token.
  EXPECT_FALSE(e.tokens[5].special);
  EXPECT_EQ(e.tokens[5].begin, 13);
  EXPECT_EQ(e.tokens[5].end, 19);
  EXPECT_EQ(e.tokens[3].begin, 6);
  EXPECT_EQ(e.tokens[3].end, 10);
  EXPECT_EQ(e.tokens[3].word, 1);
  EXPECT_EQ(e.texts, std::vector<std::string>{"The unwanted [MASK]"});
  EXPECT_FALSE(e.repaired);
  EXPECT_EQ(tokenizer.IdOf("[MASK]"), 4);
  EXPECT_EQ(tokenizer.IdOf("dog"), std::nullopt);
  EXPECT_EQ(
      tokenizer.Describe(),
      "BertNormalizer, BertPreTokenizer, WordPiece, TemplateProcessing, " +
          std::to_string(tokenizer.vocabulary_size()) + " pieces");
}

TEST(Tokenizer, AddedTokensCount) {
  const Tokenizer added = Tokenizer::Load(GoldenPath("fixture_added.json"));
  const Tokenizer bert = Tokenizer::Load(GoldenPath("fixture_bert.json"));
  EXPECT_EQ(added.vocabulary_size(), bert.vocabulary_size() + 11);
  EXPECT_EQ(added.IdOf("<l>"), bert.vocabulary_size());
}

TEST(Tokenizer, BrokenUtf8IsRepaired) {
  const Tokenizer tokenizer = Tokenizer::Load(GoldenPath("fixture_bert.json"));
  const std::string fffd = "\xEF\xBF\xBD";
  // A stray byte, a cut sequence (one part), an encoded surrogate (three).
  const Encoding e = tokenizer.Encode("a\xFF b\xE6\x9D c\xED\xA0\x80 a", "b");
  EXPECT_TRUE(e.repaired);
  EXPECT_EQ(e.texts[0],
            "a" + fffd + " b" + fffd + " c" + fffd + fffd + fffd + " a");
  EXPECT_EQ(e.texts[1], "b");
  EXPECT_EQ(e.tokens[4].begin, 11);
  EXPECT_EQ(e.tokens[4].end, 12);
  // U+FFFD itself is no repair.
  EXPECT_FALSE(tokenizer.Encode("a" + fffd).repaired);
  EXPECT_TRUE(tokenizer.Encode("a", "\xC0").repaired);
}

TEST(Tokenizer, Length) {
  const Tokenizer tokenizer = Tokenizer::Load(GoldenPath("fixture_bert.json"));
  EncodeOptions options;
  options.max_length = 5;
  EXPECT_EQ(tokenizer.Encode("a b c", {}, options).truncated, 0);
  const auto [kind, what] =
      ErrorOf([&] { tokenizer.Encode("a b c a", {}, options); });
  EXPECT_EQ(kind, ErrorKind::kUsage);
  EXPECT_THAT(what, AllOf(HasSubstr("6 tokens"), HasSubstr("at most 5")));
  options.truncate = true;
  const Encoding cut = tokenizer.Encode("a b c a", {}, options);
  EXPECT_THAT(Pieces(cut), ElementsAre("[CLS]", "a", "b", "c", "[SEP]"));
  EXPECT_EQ(cut.truncated, 1);
  options.max_length = 2;
  EXPECT_EQ(tokenizer.Encode("a b", {}, options).truncated, 2);
  EXPECT_THAT(ErrorOf([&] { tokenizer.Encode("a", "b", options); }).second,
              HasSubstr("the template alone has 3"));
  options.add_special_tokens = false;
  EXPECT_THAT(Pieces(tokenizer.Encode("a b", "c", options)),
              ElementsAre("a", "c"));
}

// Lengths as the longer sentence loses one token after the other.
TEST(Tokenizer, LongerSentenceIsCutFirst) {
  for (int64_t a = 0; a < 9; ++a) {
    for (int64_t b = 0; b < 9; ++b) {
      int64_t kept_a = a, kept_b = b;
      for (int64_t limit = a + b; limit >= 0; --limit) {
        while (kept_a + kept_b > limit) {
          // Of equals the one that was shorter from the start loses.
          const bool from_a = kept_a > kept_b || (kept_a == kept_b && a <= b);
          --(from_a ? kept_a : kept_b);
        }
        EXPECT_EQ(KeptTokens(a, b, limit), std::pair(kept_a, kept_b))
            << a << " " << b << " " << limit;
      }
    }
  }
}

TEST(Tokenizer, TruncationAndPaddingOfTheFileAreNotUsed) {
  const Tokenizer tokenizer = Tokenizer::Parse(
      WithSection("truncation", R"({"max_length": 3, "strategy": "x"})"),
      "tokenizer.json");
  EXPECT_EQ(tokenizer.Encode("a b c").tokens.size(), 5u);
}

TEST(Tokenizer, LongInputsTakeLinearTime) {
  // Each would take minutes in quadratic time.
  const Tokenizer tokenizer = Tokenizer::Load(GoldenPath("fixture_added.json"));
  const Tokenizer long_words =
      Tokenizer::Parse(Changed("\"max_input_chars_per_word\": 100",
                               "\"max_input_chars_per_word\": 1000000"),
                       "tokenizer.json");
  constexpr size_t kLength = 300000;
  EXPECT_EQ(long_words.Encode("c" + std::string(kLength, 'b')).tokens.size(),
            kLength + 3);
  EXPECT_EQ(tokenizer.Encode(std::string(kLength, 'b')).tokens.size(), 3u);
  std::string marks = "a";
  for (size_t i = 0; i < kLength / 2; ++i) marks += "\u0301\u0323";
  EXPECT_EQ(tokenizer.Encode(marks).tokens.size(), 3u);
  EXPECT_EQ(FindSpan(tokenizer.Encode(marks), "@1").first, 1);
  EXPECT_EQ(TokenLabels(tokenizer.Encode(marks)).size(), 3u);
  std::string spaces;
  for (size_t i = 0; i < kLength / 5; ++i) spaces += "<lr> ";
  EXPECT_EQ(tokenizer.Encode(spaces).tokens.size(), kLength / 5 + 2);
  EXPECT_EQ(tokenizer.Encode(std::string(kLength, ' ') + "<l>").tokens.size(),
            3u);
  EXPECT_EQ(TokenLabels(tokenizer.Encode(spaces)).size(), kLength / 5 + 2);
}

TEST(Tokenizer, UnknownPartsAreRefusedByName) {
  const auto refused = [](const std::string& section, const std::string& type,
                          const std::string& message) {
    ExpectRefused(WithSection(section, R"({"type": ")" + type + R"("})"),
                  ErrorKind::kUnsupported, message);
  };
  refused("pre_tokenizer", "Metaspace",
          "tokenizer.json: pre_tokenizer Metaspace is not supported: this "
          "version knows BertPreTokenizer");
  refused("normalizer", "NFC", "normalizer NFC is not supported");
  refused("model", "BPE", "model BPE is not supported");
  refused("post_processor", "ByteLevel", "post_processor ByteLevel is not");
  ExpectRefused(WithSection("model", R"({"vocab": {}, "merges": []})"),
                ErrorKind::kUnsupported, "model BPE");
  ExpectRefused(WithSection("version", R"("2.0")"), ErrorKind::kUnsupported,
                "version 2.0");
}

TEST(Tokenizer, BrokenFiles) {
  ExpectBroken("", "");
  ExpectBroken("[]", "must be an object");
  ExpectBroken("{}", "no model");
  ExpectBroken(WithSection("model", "null"), "no model");
  ExpectBroken(WithSection("model", "7"), "model: must be an object");
  ExpectBroken(WithSection("model", "{}"), "\"type\" is missing");
  ExpectBroken(WithSection("normalizer", "{}"), "\"type\" is missing");
  ExpectBroken(WithSection("pre_tokenizer", R"({"type": 1})"),
               "must be a string");
  ExpectBroken(WithSection("version", "1"), "version: must be a string");
  ExpectBroken(Changed("\"lowercase\"", "\"lower\""),
               "\"lowercase\" is missing");
  ExpectBroken(Changed("\"strip_accents\": null", "\"strip_accents\": 1"),
               "strip_accents: must be true or false");
}

TEST(Tokenizer, BrokenModels) {
  const auto model = [](const std::string& vocabulary,
                        const std::string& longest = "100") {
    return WithSection("model", R"({"type": "WordPiece", "unk_token": "u",
                     "continuing_subword_prefix": "##",
                     "max_input_chars_per_word": )" +
                                    longest + R"(, "vocab": )" + vocabulary +
                                    "}");
  };
  ExpectBroken(model("{}"), "vocab: there are no pieces");
  ExpectBroken(model("[]"), "vocab: must be an object");
  ExpectBroken(model(R"({"a": 0})"), "\"u\" is not in the vocabulary");
  ExpectBroken(model(R"({"u": -1})"), "\"u\" has the id -1");
  ExpectBroken(model(R"({"u": 2147483648})"), "out of range");
  ExpectBroken(model(R"({"u": 1e99})"), "must be an integer");
  ExpectBroken(model(R"({"u": "0"})"), "must be an integer");
  ExpectBroken(model(R"({"u": 1, "a": 0, "b": 1})"), "have the id 1");
  ExpectBroken(model(R"({"u": 0, "a": 1, "a": 2})"), "stands in it twice");
  ExpectBroken(model(R"({"u": 0})", "-1"), "max_input_chars_per_word is -1");
  ExpectBroken(model(R"({"u": 0})", "1.5"), "must be an integer");
  ExpectBroken(Changed("\"unk_token\"", "\"unknown\""),
               "\"unk_token\" is missing");
}

TEST(Tokenizer, BrokenAddedTokens) {
  const auto tokens = [](const std::string& list) {
    return WithSection("added_tokens", list);
  };
  const std::string flags =
      R"("single_word": false, "lstrip": false, "rstrip": false,
         "normalized": true, "special": true)";
  ExpectBroken(tokens("{}"), "added_tokens: must be an array");
  ExpectBroken(tokens("[7]"), "is missing");
  ExpectBroken(tokens(R"([{"content": "x"}])"), "is missing");
  ExpectBroken(tokens(R"([{"content": "new", "id": 9999, )" + flags + "}]"),
               "\"new\" has the id 9999, but the next one is");
  ExpectBroken(tokens(R"([{"content": "[CLS]", "id": 5, )" + flags + "}]"),
               "the vocabulary gives it 2");
  ExpectBroken(tokens(R"([{"content": "[CLS]", "id": 2, )" + flags +
                      R"(}, {"content": "[CLS]", "id": 2, )" + flags + "}]"),
               "\"[CLS]\" stands in it twice");
  ExpectRefused(
      tokens("[{\"content\": \"\\u0301\", \"id\": " +
             std::to_string(
                 Tokenizer::Parse(FixtureText(), "x").vocabulary_size()) +
             ", " + flags + "}]"),
      ErrorKind::kUnsupported, "leaves nothing of it");
}

TEST(Tokenizer, BrokenTemplates) {
  const auto broken = [](const std::string& single, const std::string& special,
                         const std::string& message) {
    ExpectBroken(
        WithSection("post_processor",
                    R"({"type": "TemplateProcessing", "single": )" + single +
                        R"(, "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                           {"Sequence": {"id": "B", "type_id": 1}}],
                           "special_tokens": )" +
                        special + "}"),
        message);
  };
  const std::string a = R"({"Sequence": {"id": "A", "type_id": 0}})";
  broken("[]", "{}", "sequence A stands in it 0 times");
  broken("[" + a + ", " + a + "]", "{}", "2 times instead of 1");
  broken(R"([{"Sequence": {"id": "B", "type_id": 0}}])", "{}", "sequence A");
  broken(R"([{"Sequence": {"id": "C", "type_id": 0}}])", "{}", "no sequence");
  broken(R"([{"Sequence": {"id": "A", "type_id": -1}}])", "{}", "type_id -1");
  broken(R"([{"Sequence": {"id": "A"}}])", "{}", "\"type_id\" is missing");
  broken(R"([7])", "{}", "must be a Sequence or a SpecialToken");
  broken("[" + a + R"(, {"SpecialToken": {"id": "x", "type_id": 0}}])", "{}",
         "\"x\" is not among the special_tokens");
  const std::string x = "[" + a + R"(, {"SpecialToken": {"id": "x",
                                        "type_id": 0}}])";
  broken(x, R"({"x": {"ids": [1, 2], "tokens": ["x"]}})", "2 ids, but 1 token");
  broken(x, R"({"x": {"ids": [12345], "tokens": ["x"]}})",
         "\"x\" has the id 12345, which is not in the vocabulary");
  ExpectBroken(WithSection("post_processor",
                           R"({"type": "BertProcessing", "cls": ["[CLS]"],
                               "sep": ["[SEP]", 3]})"),
               "a piece and its id");
}

TEST(Tokenizer, MissingFile) {
  const auto [kind, what] = ErrorOf([] { Tokenizer::Load("/nowhere/t.json"); });
  EXPECT_EQ(kind, ErrorKind::kFile);
  EXPECT_THAT(what, HasSubstr("/nowhere/t.json"));
}

}  // namespace
}  // namespace regard::inline v0
