#include "io/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "regard/error.h"

namespace regard {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  try {
    Json::Parse(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    return error.what();
  }
  return "no error";
}

TEST(Json, ReadsEveryKind) {
  const Json json = Json::Parse(
      R"({"null": null, "yes": true, "int": -9223372036854775808,
          "double": 1.0, "text": "a\u00e9\ud83d\ude00\u0000b",
          "array": [1, [], {}], "object": {"x": 1e-3}})",
      "x.json");
  EXPECT_TRUE(json.Find("null")->IsNull());
  EXPECT_TRUE(json.Find("yes")->AsBool("yes"));
  EXPECT_EQ(json.Find("int")->AsInt("int"),
            std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(json.Find("double")->IsInt());
  EXPECT_EQ(json.Find("double")->AsNumber("double"), 1.0);
  EXPECT_EQ(json.Find("text")->AsString("text"),
            std::string("a\u00e9\U0001F600\0b", 9));
  EXPECT_EQ(json.Find("array")->AsArray("array").size(), 3u);
  EXPECT_EQ(json.Find("object")->Find("x")->AsNumber("x"), 1e-3);
  EXPECT_EQ(json.Find("absent"), nullptr);
}

TEST(Json, KeepsOrderAndDuplicateKeys) {
  const Json json = Json::Parse(R"({"b": 1, "a": 2, "b": 3})", "x.json");
  const Json::Object& object = json.AsObject("x.json");
  ASSERT_EQ(object.size(), 3u);
  EXPECT_EQ(object[0].first, "b");
  EXPECT_EQ(object[1].first, "a");
  EXPECT_EQ(object[2].second.AsInt("b"), 3);
  EXPECT_EQ(json.DuplicateKey(), "b");
  EXPECT_EQ(Json::Parse(R"({"b": 1, "a": 2})", "x.json").DuplicateKey(),
            std::nullopt);
}

TEST(Json, WideIntegersBecomeDoubles) {
  const Json json = Json::Parse(
      R"([9223372036854775807, 9223372036854775808, 18446744073709551616,
          -1000000000000000019884624838656, 1.000000000000000000000000001,
          1e00000000000000000000001, "18446744073709551616 \" \\",
          1E+00000000000000000000001, 1e-00000000000000000000001])",
      "x.json");
  const Json::Array& array = json.AsArray("x.json");
  EXPECT_EQ(array[0].AsInt("0"), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(array[1].IsInt());
  EXPECT_EQ(array[1].AsNumber("1"), 9223372036854775808.0);
  EXPECT_EQ(array[2].AsNumber("2"), 18446744073709551616.0);
  EXPECT_EQ(array[3].AsNumber("3"), -1e30);
  EXPECT_EQ(array[4].AsNumber("4"), 1.0);
  EXPECT_EQ(array[5].AsNumber("5"), 10.0);
  EXPECT_EQ(array[6].AsString("6"), "18446744073709551616 \" \\");
  EXPECT_EQ(array[7].AsNumber("7"), 10.0);
  EXPECT_EQ(array[8].AsNumber("8"), 0.1);
}

TEST(Json, BrokenDocumentsAreRefusedWithThePlace) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("x.json: not valid JSON: nothing in it"));
  EXPECT_THAT(ErrorOf("{\n  \"a\": 1,\n  \"b\": tru\n}"),
              HasSubstr("at line 3, column 8: a word that is not true"));
  EXPECT_THAT(ErrorOf("{\"a\": 1 \"b\": 2}"), HasSubstr("missing"));
  EXPECT_THAT(ErrorOf("{\"a\": 1e999}"), HasSubstr("beyond double"));
  EXPECT_THAT(ErrorOf("[\"\xff\"]"), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf("[\"a\nb\"]"), HasSubstr("control character"));
  for (const char* text :
       {"[1,]", "{\"a\":}", "[1] 2", "nul", "01", "+1", "1.", "[", "]", "{",
        "\"", "\"\\x\"", "'a'", "NaN", "[1 2]", "{1:2}", "{\"a\" 1}", "\xEF"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("not valid JSON")) << text;
  }
}

TEST(Json, LoneSurrogatesAreRefused) {
  for (const char* text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\ud800\ud800")",
        R"({"\udc00": 1})", R"("\ud800x")"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("not valid JSON")) << text;
  }
}

TEST(Json, DepthIsLimited) {
  const std::string deep(100000, '[');
  EXPECT_THAT(ErrorOf(deep + std::string(100000, ']')),
              HasSubstr("nested too deep"));
  const std::string ok(1000, '[');
  EXPECT_TRUE(Json::Parse(ok + std::string(1000, ']'), "x").IsArray());
}

TEST(Json, WrongKindNamesThePlace) {
  try {
    Json(1.5).AsInt("config.json: hidden_size");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "config.json: hidden_size: must be an integer, not a number "
                 "that is no 64-bit integer");
  }
  EXPECT_THROW(Json("x").AsBool("x"), Error);
  EXPECT_THROW(Json(true).AsNumber("x"), Error);
  EXPECT_THROW(Json().AsString("x"), Error);
  EXPECT_THROW(Json(1).AsArray("x"), Error);
  EXPECT_THROW(Json(1).AsObject("x"), Error);
}

TEST(Json, WritesShortestDigitsThatReadBack) {
  EXPECT_EQ(Json(0.1).Dump(), "0.1");
  EXPECT_EQ(Json(0.1f).Dump(), "0.1");
  EXPECT_EQ(Json(static_cast<double>(0.1f)).Dump(), "0.10000000149011612");
  EXPECT_EQ(Json(1.0).Dump(), "1.0");
  EXPECT_EQ(Json(-0.0f).Dump(), "-0.0");
  EXPECT_EQ(Json(1e30).Dump(), "1e+30");
  EXPECT_EQ(Json(int64_t{-5}).Dump(), "-5");
  EXPECT_EQ(Json(std::nan("")).Dump(), "null");
  EXPECT_EQ(Json(std::numeric_limits<float>::infinity()).Dump(), "null");
  EXPECT_FALSE(Json::Parse(Json(3.0).Dump(), "x").IsInt());
}

TEST(Json, EscapesWhatTerminalsAndScriptsMisread) {
  EXPECT_EQ(Json("a\"\\\n\t\r\x01\x7f</b>").Dump(),
            R"("a\"\\\n\t\r\u0001\u007f</b>")");
  EXPECT_EQ(Json("\u2028\u2029\u0085\u00e9\U0001F600").Dump(),
            "\"\\u2028\\u2029\\u0085\u00e9\U0001F600\"");
  EXPECT_EQ(Json("a\xff\xe2\x82z\xed\xa0\x80").Dump(),
            "\"a\uFFFD\uFFFDz\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(Json(std::string("\0", 1)).Dump(), "\"\\u0000\"");
}

TEST(Json, BuildsAndReadsBack) {
  Json json;
  json.Set("list", Json::Array{1, "two", 3.5, Json()});
  Json inner;
  inner.Append(true);
  json.Set("in\ner", inner);
  json.Set("empty", Json::Object());
  const std::string text =
      R"({"list":[1,"two",3.5,null],"in\ner":[true],"empty":{}})";
  EXPECT_EQ(json.Dump(), text);
  EXPECT_EQ(Json::Parse(text, "x").Dump(), text);
  EXPECT_THROW(inner.Set("a", 1), Error);
  EXPECT_THROW(json.Append(1), Error);
}

}  // namespace
}  // namespace regard
