#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/json.h"
#include "regard/error.h"
#include "regard/tokenizer.h"
#include "text/test_data.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenNaming : public ::testing::Test {
 protected:
  Encoding Encode(std::string_view text) { return bert_.Encode(text); }
  Encoding Encode(std::string_view text, std::string_view pair) {
    return bert_.Encode(text, pair);
  }
  Encoding EncodeCased(std::string_view text) { return cased_.Encode(text); }

  // "3", "3-5", or the message.
  static std::string Find(const Encoding& encoding, std::string_view name) {
    try {
      const TokenSpan span = FindSpan(encoding, name);
      EXPECT_EQ(span.text, name);
      std::string out = std::to_string(span.first);
      if (span.last != span.first) out += "-" + std::to_string(span.last);
      return out;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
  }

  Tokenizer bert_ = Tokenizer::Load(GoldenPath("fixture_bert.json"));
  Tokenizer cased_ = Tokenizer::Load(GoldenPath("fixture_cased.json"));
};

TEST_F(TokenNaming, Words) {
  // [CLS] the animal did ##n ' t cross the street . [SEP]
  const Encoding e = Encode("The animal didn't cross the street.");
  EXPECT_EQ(Find(e, "animal"), "2");
  EXPECT_EQ(Find(e, "ANIMAL"), "2");
  EXPECT_EQ(Find(e, " animal "), "2");
  EXPECT_EQ(Find(e, "didn't"), "3-6");
  EXPECT_EQ(Find(e, "animal didn't"), "2-6");
  EXPECT_EQ(Find(e, "."), "10");
  EXPECT_EQ(Find(e, "[CLS]"), "0");
  EXPECT_EQ(Find(e, "[sep]"), "11");
}

TEST_F(TokenNaming, Occurrences) {
  const Encoding e = Encode("The animal cross the street");
  EXPECT_EQ(Find(e, "the#1"), "1");
  EXPECT_EQ(Find(e, "the#2"), "4");
  EXPECT_THAT(Find(e, "the"), HasSubstr("2 times: the#1 (@1), the#2 (@4)"));
  EXPECT_THAT(Find(e, "the#3"), HasSubstr("occurs 2 times"));
  EXPECT_THAT(Find(e, "street#2"), HasSubstr("occurs once"));
  EXPECT_THAT(Find(e, "street#99999999999999999999"),
              HasSubstr("\"street\" occurs once: occurrences count from 1"));
  EXPECT_THAT(Find(e, "the#0"),
              HasSubstr("\"the\" occurs 2 times: occurrences count from 1"));
  EXPECT_THAT(Find(e, "it#0"), HasSubstr("is not in the text"));
}

TEST_F(TokenNaming, Pairs) {
  const Encoding e = Encode("it was a street", "it was too wide");
  EXPECT_EQ(Find(e, "it#1"), "1");
  EXPECT_EQ(Find(e, "it#2"), "6");
  EXPECT_EQ(Find(e, "b:it"), "6");
  EXPECT_EQ(Find(e, "b:it#1"), "6");
  EXPECT_EQ(Find(e, "wide"), "9");
  EXPECT_EQ(Find(e, "[SEP]#2"), "10");
  EXPECT_THAT(Find(Encode("a", "b b"), "b:b"),
              HasSubstr("2 times: b:b#1 (@3), b:b#2 (@4)"));
  EXPECT_EQ(Find(e, "b:[SEP]"), "10");
  EXPECT_THAT(Find(e, "b:street"), HasSubstr("not in the second sentence"));
  EXPECT_THAT(Find(Encode("it was"), "b:it"), HasSubstr("no second sentence"));
}

TEST_F(TokenNaming, Indexes) {
  const Encoding e = Encode("the animal was wide");
  EXPECT_EQ(Find(e, "@0"), "0");
  EXPECT_EQ(Find(e, "@2-4"), "2-4");
  EXPECT_EQ(Find(e, "@5"), "5");
  EXPECT_THAT(Find(e, "@6"), HasSubstr("no token 6, only 0 to 5"));
  EXPECT_THAT(Find(e, "@99999999999999999999"),
              HasSubstr("no token 99999999999999999999, only 0 to 5"));
  EXPECT_THAT(Find(e, "@3-99999999999999999999"),
              HasSubstr("no token 99999999999999999999, only 0 to 5"));
  EXPECT_THAT(Find(e, "@7-99999999999999999999"),
              HasSubstr("no token 7, only"));
  EXPECT_THAT(Find(e, "@3-2"), HasSubstr("backwards"));
}

TEST_F(TokenNaming, LiteralTexts) {
  const Encoding e = Encode("a @8 b text : c");
  EXPECT_EQ(Find(e, "text:@8"), "2-3");
  EXPECT_EQ(Find(e, "text"), "5");
  EXPECT_EQ(Find(e, "text:text"), "5");
  EXPECT_THAT(Find(e, "text:[CLS]"), HasSubstr("is not in the text"));
}

// The sign # belongs to the word unless such an occurrence exists.
TEST_F(TokenNaming, NumberSigns) {
  const Encoding once = Encode("a C# c#1");
  EXPECT_EQ(Find(once, "C##2"), "4-5");
  EXPECT_THAT(Find(once, "C#"), HasSubstr("C##1 (@2-3), C##2 (@4-5)"));
  EXPECT_THAT(Find(once, "#"), HasSubstr("##1 (@3), ##2 (@5)"));
  EXPECT_EQ(Find(once, "##2"), "5");
  const Encoding version = Encode("a C#2 b");
  EXPECT_EQ(Find(version, "C#"), "2-3");
  EXPECT_EQ(Find(version, "C#1"), "2");
  // There is only one C, so this is the text.
  EXPECT_EQ(Find(version, "C#2"), "2-4");
  EXPECT_EQ(Find(version, "text:C#2"), "2-4");
  const Encoding both = Encode("C#2 c");
  EXPECT_EQ(Find(both, "C#2"), "4");
  EXPECT_EQ(Find(both, "text:C#2"), "1-3");
  EXPECT_EQ(Find(Encode("C#2 C#2"), "text:C#2#2"), "4-6");
  EXPECT_EQ(Find(Encode("a C#0 c"), "C#0"), "2-4");
}

TEST_F(TokenNaming, InsideTokens) {
  const Encoding e = Encode("the suitcase unwanted");
  EXPECT_THAT(Find(e, "it"), AllOf(HasSubstr("suitcase (@2)"),
                                   HasSubstr("name whole tokens")));
  EXPECT_THAT(Find(e, "suit"), HasSubstr("it stands in suitcase (@2)"));
  EXPECT_THAT(Find(e, "case"), HasSubstr("it stands in suitcase (@2)"));
  EXPECT_EQ(Find(e, "want"), "4");
  EXPECT_EQ(Find(e, "unwant"), "3-4");
  EXPECT_THAT(Find(e, "nwante"), HasSubstr("un ##want ##ed (@3-5)"));
}

TEST_F(TokenNaming, ComparedInTheOriginalText) {
  const Encoding e = Encode("sch\u00F6n scho\u0308n schon \u6771\u4EAC");
  EXPECT_EQ(Find(e, "SCH\u00D6N#1"), "1");
  EXPECT_EQ(Find(e, "scho\u0308n#2"), "2");
  EXPECT_EQ(Find(e, "schon"), "3");
  EXPECT_EQ(Find(e, "\u6771\u4EAC"), "4-5");
  EXPECT_EQ(Find(e, "\u4EAC"), "5");
  const Encoding s = Encode("\u00DF ss");
  EXPECT_EQ(Find(s, "SS#1"), "1");
  EXPECT_EQ(Find(s, "\u1E9E#2"), "2");
  EXPECT_THAT(Find(Encode("\u00DF"), "s"), HasSubstr("does not begin and end"));
}

TEST_F(TokenNaming, Absent) {
  const Encoding e = Encode("the animal was\u00ADwide");
  EXPECT_THAT(Find(e, "animals"), HasSubstr("did you mean \"animal\"?"));
  EXPECT_THAT(Find(e, "quux"), HasSubstr("the tokens are [CLS] the animal"));
  EXPECT_THAT(Find(e, "\u00AD"), HasSubstr("does not begin and end"));
  EXPECT_THAT(Find(Encode("a \uFFFD b"), "\uFFFD"), HasSubstr("no token"));
  EXPECT_THAT(Find(e, ""), HasSubstr("names no token"));
  EXPECT_THAT(Find(e, " \n"), HasSubstr("names no token"));
  EncodeOptions options;
  options.max_length = 4;
  options.truncate = true;
  EXPECT_THAT(Find(bert_.Encode("the animal was wide", {}, options), "wide"),
              HasSubstr("cut off (2 tokens)"));
}

TEST_F(TokenNaming, Labels) {
  EXPECT_THAT(TokenLabels(Encode("the animal the unwanted")),
              ElementsAre("[CLS]", "the#1", "animal", "the#2", "un", "##want",
                          "##ed", "[SEP]"));
  EXPECT_THAT(TokenLabels(Encode("a b", "b")),
              ElementsAre("[CLS]", "a", "b#1", "[SEP]#1", "b#2", "[SEP]#2"));
  // What is only labelled like a text counts behind it.
  EXPECT_THAT(
      TokenLabels(Encode("sch\u00F6n schon zz zz")),
      ElementsAre("[CLS]", "schon#2", "schon", "[UNK]#1", "[UNK]#2", "[SEP]"));
  // Would be read as the second #.
  EXPECT_THAT(TokenLabels(Encode("# 12 #")),
              ElementsAre("[CLS]", "##1", "1", "##2#1", "##2", "[SEP]"));
}

TEST_F(TokenNaming, LabelsOfOtherTokenizers) {
  Encoding e;
  e.texts = {" the\n \u0120 x"};
  for (const auto& [piece, begin, end] :
       std::vector<std::tuple<std::string, int, int>>{{"\u0120the", 0, 4},
                                                      {"\u010A", 4, 5},
                                                      {"\u2581\u0120", 5, 7},
                                                      {"\t", 7, 8},
                                                      {"x", 8, 9}}) {
    Token token;
    token.piece = piece;
    token.begin = begin;
    token.end = end;
    token.sentence = 0;
    e.tokens.push_back(token);
  }
  EXPECT_THAT(TokenLabels(e),
              ElementsAre(" the", "\u23CE", " \u0120", "\u2409", "x"));
  EXPECT_EQ(Find(e, " the"), "0");
  EXPECT_EQ(Find(e, "the"), "0");
  EXPECT_EQ(Find(e, "\u23CE"), "1");
}

// Every label leads back to its token.
TEST_F(TokenNaming, LabelsOfTheCorpusLeadBack) {
  int64_t tokens = 0;
  const auto check = [&tokens](const Encoding& e, const std::string& line) {
    const std::vector<std::string> labels = TokenLabels(e);
    ASSERT_EQ(labels.size(), e.tokens.size());
    for (size_t i = 0; i < labels.size(); ++i) {
      ++tokens;
      EXPECT_EQ(Find(e, labels[i]), std::to_string(i)) << labels[i] << "\n"
                                                       << line;
    }
  };
  const auto path = RealTokenizerPath();
  const std::optional<Tokenizer> real =
      path ? std::optional(Tokenizer::Load(*path)) : std::nullopt;
  const std::vector<const Tokenizer*> tokenizers = {&cased_,
                                                    real ? &*real : &bert_};
  for (const std::string& line : GoldenLines("corpus.jsonl")) {
    if (line.size() > 1000) continue;
    const Json json = Json::Parse(line, "corpus.jsonl");
    for (const Tokenizer* tokenizer : tokenizers) {
      check(json.IsString()
                ? tokenizer->Encode(json.AsString(""))
                : tokenizer->Encode(json.AsArray("")[0].AsString(""),
                                    json.AsArray("")[1].AsString("")),
            line);
    }
  }
  EXPECT_GT(tokens, 30000);
}

}  // namespace
}  // namespace regard::inline v0
