// Compares with the reference tokenizer: see tests/golden/make_tokenizer.py.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "base/utf8.h"
#include "io/json.h"
#include "regard/tokenizer.h"
#include "text/parts.h"
#include "text/test_data.h"

namespace regard::inline v0 {
namespace {

constexpr char32_t kBlock = 256;

struct Configuration {
  bool lowercase;
  std::optional<bool> strip_accents;
};

// In the order of the golden files.
constexpr Configuration kConfigurations[] = {
    {true, std::nullopt},  {true, true},  {true, false},
    {false, std::nullopt}, {false, true}, {false, false},
};

std::string Name(const Configuration& c) {
  return std::string("lowercase ") + (c.lowercase ? "true" : "false") +
         ", strip_accents " +
         (!c.strip_accents   ? "null"
          : *c.strip_accents ? "true"
                             : "false");
}

Json NormalizerJson(const Configuration& c) {
  Json json;
  json.Set("type", "BertNormalizer");
  json.Set("clean_text", true);
  json.Set("handle_chinese_chars", true);
  json.Set("strip_accents", c.strip_accents ? Json(*c.strip_accents) : Json());
  json.Set("lowercase", c.lowercase);
  return json;
}

// The real tokenizer.json with the normalizer changed.
Tokenizer RealTokenizer(const Configuration& configuration) {
  const std::string path = *RealTokenizerPath();
  const Json json = Json::Parse(ReadText(path), path);
  Json changed;
  for (const auto& [key, value] : json.AsObject(path)) {
    changed.Set(key,
                key == "normalizer" ? NormalizerJson(configuration) : value);
  }
  return Tokenizer::Parse(changed.Dump(), path);
}

std::string Digest(const void* data, size_t size) {
  return Sha256Hex(data, size).substr(0, 8);
}
std::string Digest(const std::string& text) {
  return Digest(text.data(), text.size());
}

// One block of code points and its hash for each configuration.
struct BlockRow {
  char32_t first;
  std::vector<std::string> hashes;
};

std::vector<BlockRow> ReadBlocks(const std::string& name,
                                 size_t columns = std::size(kConfigurations)) {
  std::vector<BlockRow> rows;
  for (const std::string& line : GoldenLines(name)) {
    std::istringstream stream(line);
    unsigned first = 0, last = 0;
    std::string range;
    stream >> range;
    EXPECT_EQ(std::sscanf(range.c_str(), "%x-%x", &first, &last), 2) << line;
    std::vector<std::string> hashes;
    for (std::string hash; stream >> hash;) hashes.push_back(hash);
    EXPECT_EQ(hashes.size(), columns) << line;
    for (unsigned block = first; block < last; block += kBlock) {
      rows.push_back({block, hashes});
    }
  }
  return rows;
}

std::u32string BlockText(char32_t first) {
  std::u32string text;
  for (char32_t c = first; c < first + kBlock; ++c) {
    text += {U'a', c, U'b', U' ', c, U' '};
  }
  return text;
}

std::string BlockName(char32_t first) {
  char name[32];
  std::snprintf(name, sizeof(name), "U+%04X-U+%04X",
                static_cast<unsigned>(first),
                static_cast<unsigned>(first + kBlock - 1));
  return name;
}

// Every scalar value is in a row.
TEST(TokenizerGolden, BlocksCoverUnicode) {
  EXPECT_EQ(ReadBlocks("normalized.txt").size(), (0x110000 - 0x800) / kBlock);
  const std::vector<BlockRow> rows = ReadBlocks("blocks.txt");
  EXPECT_EQ(rows.size(), (0x110000 - 0x800) / kBlock);
  for (const BlockRow& row : rows) {
    EXPECT_EQ(row.hashes[0], row.hashes[1]) << BlockName(row.first);
    EXPECT_EQ(row.hashes[3], row.hashes[5]) << BlockName(row.first);
  }
}

TEST(TokenizerGolden, NormalizedCodePoints) {
  std::vector<std::unique_ptr<Normalizer>> normalizers;
  for (const Configuration& configuration : kConfigurations) {
    normalizers.push_back(
        MakeBertNormalizer({NormalizerJson(configuration), "normalizer"}));
  }
  for (const BlockRow& row : ReadBlocks("normalized.txt")) {
    for (size_t i = 0; i < std::size(kConfigurations); ++i) {
      AlignedText text;
      text.chars = BlockText(row.first);
      text.origin.resize(text.chars.size());
      normalizers[i]->Apply(&text);
      std::vector<int32_t> points(text.chars.begin(), text.chars.end());
      for (int32_t& c : points) {
        const int32_t index = c - static_cast<int32_t>(row.first);
        if (index >= 0 && index < static_cast<int32_t>(kBlock)) c = -1 - index;
      }
      EXPECT_EQ(Digest(points.data(), points.size() * sizeof(int32_t)),
                row.hashes[i])
          << BlockName(row.first) << ", " << Name(kConfigurations[i]);
    }
  }
}

// The hash of ids and offsets.
std::string TableDigest(const Encoding& encoding) {
  std::vector<int32_t> table;
  for (const Token& token : encoding.tokens) {
    for (const int64_t value : {token.id, token.begin, token.end}) {
      table.push_back(static_cast<int32_t>(value));
    }
  }
  return Digest(table.data(), table.size() * sizeof(int32_t));
}

// Every code point beside added tokens that stand alone or take whitespace.
TEST(TokenizerGolden, CodePointsBesideAddedTokens) {
  const Tokenizer tokenizer = Tokenizer::Load(GoldenPath("fixture_added.json"));
  const std::vector<BlockRow> rows = ReadBlocks("fixture_blocks.txt", 1);
  ASSERT_EQ(rows.size(), (0x110000 - 0x800) / kBlock);
  for (const BlockRow& row : rows) {
    std::u32string text;
    for (char32_t c = row.first; c < row.first + kBlock; ++c) {
      text +=
          c + std::u32string(U"<w> <w>") + c + U' ' + c + U"<lr>" + c + U' ';
    }
    EXPECT_EQ(TableDigest(tokenizer.Encode(Encode(text))), row.hashes[0])
        << BlockName(row.first);
  }
}

// Ids and offsets of every code point, between letters and alone.
TEST(TokenizerGolden, CodePoints) {
  if (!RealTokenizerPath()) GTEST_SKIP() << "./dev model brings the model";
  const std::vector<BlockRow> rows = ReadBlocks("blocks.txt");
  for (size_t i = 0; i < std::size(kConfigurations); ++i) {
    const Configuration& configuration = kConfigurations[i];
    // The same normalizer as one of the others (see NormalizedCodePoints).
    if (!configuration.strip_accents) continue;
    const Tokenizer tokenizer = RealTokenizer(configuration);
    for (const BlockRow& row : rows) {
      const Encoding encoding = tokenizer.Encode(Encode(BlockText(row.first)));
      EXPECT_EQ(TableDigest(encoding), row.hashes[i])
          << BlockName(row.first) << ", " << Name(configuration);
    }
  }
}

Encoding EncodeLine(const Tokenizer& tokenizer, const Json& line,
                    const EncodeOptions& options = {}) {
  if (line.IsString()) return tokenizer.Encode(line.AsString(""), {}, options);
  const Json::Array& pair = line.AsArray("");
  return tokenizer.Encode(pair[0].AsString(""), pair[1].AsString(""), options);
}

// "101/0 1996@0-3 102/0"
std::string Readable(const Encoding& encoding) {
  std::string out;
  for (const Token& token : encoding.tokens) {
    if (!out.empty()) out += ' ';
    out += std::to_string(token.id);
    out += token.special ? "/" + std::to_string(token.segment)
                         : "@" + std::to_string(token.begin) + "-" +
                               std::to_string(token.end);
  }
  return out;
}

std::string Everything(const Encoding& encoding) {
  std::string out;
  for (const Token& token : encoding.tokens) {
    for (const int64_t value : {token.id, token.begin, token.end,
                                int64_t{token.segment}, token.word}) {
      out += std::to_string(value) + ",";
    }
    out += token.piece + "\n";
  }
  return out;
}

TEST(TokenizerGolden, Corpus) {
  if (!RealTokenizerPath()) GTEST_SKIP() << "./dev model brings the model";
  const std::vector<std::string> texts = GoldenLines("corpus.jsonl");
  const std::vector<std::string> tokens = GoldenLines("corpus_tokens.txt");
  const std::vector<std::string> hashes = GoldenLines("corpus_hashes.txt");
  ASSERT_GE(texts.size(), 2000u);
  ASSERT_EQ(tokens.size(), texts.size());
  ASSERT_EQ(hashes.size(), texts.size());
  std::vector<Tokenizer> tokenizers;
  for (const Configuration& configuration : kConfigurations) {
    tokenizers.push_back(RealTokenizer(configuration));
  }
  for (size_t line = 0; line < texts.size(); ++line) {
    SCOPED_TRACE("corpus.jsonl, line " + std::to_string(line + 1) + ": " +
                 texts[line]);
    const Json text = Json::Parse(texts[line], "corpus.jsonl");
    EXPECT_EQ(Readable(EncodeLine(tokenizers[0], text)), tokens[line]);
    std::istringstream stream(hashes[line]);
    for (size_t i = 0; i < std::size(kConfigurations); ++i) {
      std::string hash;
      stream >> hash;
      const std::string all = Everything(EncodeLine(tokenizers[i], text));
      EXPECT_EQ(Digest(all), hash) << Name(kConfigurations[i]) << "\n" << all;
    }
  }
}

// Our own small tokenizers: flags of added tokens, templates, truncation.
TEST(TokenizerGolden, Fixtures) {
  std::map<std::string, Tokenizer> tokenizers;
  int cases = 0;
  for (const std::string& line : GoldenLines("fixture_cases.jsonl")) {
    SCOPED_TRACE(line);
    const Json json = Json::Parse(line, "fixture_cases.jsonl");
    const Json::Array& fields = json.AsArray("");
    const std::string& name = fields[0].AsString("");
    auto it = tokenizers.find(name);
    if (it == tokenizers.end()) {
      it =
          tokenizers
              .emplace(name,
                       Tokenizer::Load(GoldenPath("fixture_" + name + ".json")))
              .first;
    }
    EncodeOptions options;
    options.add_special_tokens = fields[2].AsBool("");
    if (!fields[3].IsNull()) {
      options.max_length = fields[3].AsInt("");
      options.truncate = true;
    }
    const Encoding encoding = EncodeLine(it->second, fields[1], options);
    Json pieces{Json::Array()}, table{Json::Array()};
    for (const Token& token : encoding.tokens) {
      pieces.Append(token.piece);
      table.Append(Json::Array{token.id, token.begin, token.end, token.segment,
                               int{token.special}, token.word});
    }
    EXPECT_EQ(pieces.Dump(), fields[4].Dump());
    EXPECT_EQ(table.Dump(), fields[5].Dump());
    ++cases;
  }
  EXPECT_GT(cases, 500);
}

}  // namespace
}  // namespace regard::inline v0
