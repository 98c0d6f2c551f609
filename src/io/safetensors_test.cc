#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "io/file.h"
#include "io/safetensors_format.h"
#include "io/temp_dir.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string LittleEndian64(uint64_t value) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &value, 8);
  return bytes;
}

std::string FileOf(const std::string& header, const std::string& data) {
  return LittleEndian64(header.size()) + header + data;
}

template <typename Function>
std::string ErrorOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

SafeTensorsContent Parse(const std::string& file) {
  return ParseSafeTensors(
      {reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "x");
}

// The message for a header and `size` bytes of data.
std::string ErrorFor(const std::string& header, size_t size = 0) {
  return ErrorOf([&] { Parse(FileOf(header, std::string(size, '\0'))); });
}

std::string Info(const std::string& dtype, const std::string& shape,
                 const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}";
}

std::string One(const std::string& dtype, const std::string& shape,
                const std::string& offsets) {
  return "{\"a\":" + Info(dtype, shape, offsets) + "}";
}

std::string Two(const std::string& a, const std::string& b) {
  return "{\"a\":" + a + ",\"b\":" + b + "}";
}

TEST(SafeTensorsFormat, ReadsNamesTypesShapesAndBytes) {
  const std::string file =
      FileOf(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
             R"("__metadata__":{"format":"pt"},)"
             R"("a":{"dtype":"U8","shape":[1,2],"data_offsets":[8,10]}}   )",
             "12345678ab");
  const SafeTensorsContent content = Parse(file);
  ASSERT_EQ(content.entries.size(), 2u);
  EXPECT_EQ(content.entries[0].name, "a");
  EXPECT_EQ(content.entries[0].dtype, "U8");
  EXPECT_EQ(content.entries[0].shape, (Dims{1, 2}));
  EXPECT_EQ(std::memcmp(content.entries[0].data, "ab", 2), 0);
  EXPECT_EQ(content.entries[1].bytes, 8u);
  EXPECT_THAT(content.metadata, ElementsAre(std::pair("format", "pt")));
}

TEST(SafeTensorsFormat, TheHeaderMustFitAndBeginWithABrace) {
  EXPECT_THAT(ErrorOf([] { Parse("1234567"); }),
              HasSubstr("x: 7 bytes are too few for a safetensors file: the "
                        "file is damaged, fetch it again"));
  EXPECT_THAT(ErrorOf([] { Parse(""); }), HasSubstr("too few"));
  EXPECT_THAT(ErrorOf([] { Parse(LittleEndian64(3) + "{}"); }),
              HasSubstr("the header claims 3 bytes but the file has 10"));
  for (const uint64_t length : {uint64_t{100'000'001}, uint64_t{132'095'296},
                                uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_THAT(ErrorOf([&] { Parse(LittleEndian64(length) + "{}"); }),
                AllOf(HasSubstr("header too large"),
                      HasSubstr(std::to_string(length))));
  }
  EXPECT_THAT(ErrorFor(" {}"), HasSubstr("does not begin with {"));
  EXPECT_THAT(ErrorFor(""), HasSubstr("does not begin with {"));
  EXPECT_THAT(ErrorFor("{"), HasSubstr("x: header: not valid JSON"));
  EXPECT_THAT(ErrorFor("{} x"), HasSubstr("not valid JSON"));
  EXPECT_EQ(ErrorFor("{}  "), "no error");
}

TEST(SafeTensorsFormat, DuplicatesAreRefused) {
  const std::string empty = Info("F32", "[0]", "[0,0]");
  EXPECT_THAT(ErrorFor("{\"a\":" + empty + ",\"a\":" + empty + "}"),
              HasSubstr("a stands twice in the header"));
  EXPECT_THAT(ErrorFor(R"({"__metadata__":{},"__metadata__":{}})"),
              HasSubstr("__metadata__ stands twice"));
  EXPECT_THAT(ErrorFor(R"({"__metadata__":{"k":"1","k":"2"}})"),
              HasSubstr("k stands twice in __metadata__"));
  EXPECT_THAT(ErrorFor(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],)"
                       R"("data_offsets":[0,0]}})"),
              HasSubstr("tensor a: dtype stands twice"));
}

TEST(SafeTensorsFormat, MetadataIsText) {
  EXPECT_EQ(ErrorFor(R"({"__metadata__":{"a":"b"}})"), "no error");
  EXPECT_THAT(ErrorFor(R"({"__metadata__":{"step":3}})"),
              HasSubstr("__metadata__: step: must be a string"));
  EXPECT_THAT(ErrorFor(R"({"__metadata__":["a"]})"),
              HasSubstr("__metadata__: must be an object"));
}

TEST(SafeTensorsFormat, ShapeAndTypeMustFillTheBytes) {
  EXPECT_THAT(ErrorFor(One("F32", "[1000,1000]", "[0,4]"), 4),
              HasSubstr("tensor a: F32 [1000, 1000] needs 4000000 bytes but "
                        "has 4"));
  EXPECT_THAT(ErrorFor(One("Q9", "[1]", "[0,4611686018427387904]"), 4),
              HasSubstr("x: tensor a: unknown dtype Q9"));
  EXPECT_THAT(ErrorFor(One("F32", "[4294967296,4294967296]", "[0,0]")),
              HasSubstr("too large to count"));
  EXPECT_THAT(ErrorFor(One("F32", "[2305843009213693952]", "[0,0]")),
              HasSubstr("too large to count"));
  EXPECT_THAT(ErrorFor(One("F32", "[-1]", "[0,4]"), 4),
              HasSubstr("shape -1 is negative"));
  EXPECT_THAT(ErrorFor(One("F32", "[1.0]", "[0,4]"), 4),
              HasSubstr("tensor a: shape: must be an integer"));
  EXPECT_THAT(ErrorFor(One("F32", "[18446744073709551615]", "[0,4]"), 4),
              HasSubstr("must be an integer"));
  EXPECT_THAT(ErrorFor(One("F32", "3", "[0,4]"), 4),
              HasSubstr("shape: must be an array"));
  EXPECT_THAT(ErrorFor(One("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1),
              HasSubstr("tensor a: has rank 9: ranks up to 8"));
}

TEST(SafeTensorsFormat, ScalarsAndEmptyTensorsAreLegal) {
  EXPECT_EQ(ErrorFor(One("F32", "[2,0]", "[0,0]")), "no error");
  EXPECT_EQ(ErrorFor(One("F32", "[]", "[0,4]"), 4), "no error");
  EXPECT_THAT(ErrorFor(One("F32", "[1]", "[0,0]")),
              HasSubstr("needs 4 bytes but has 0"));
  // An empty tensor between two others.
  EXPECT_EQ(ErrorFor("{\"a\":" + Info("U8", "[2]", "[0,2]") +
                         ",\"b\":" + Info("U8", "[0]", "[2,2]") +
                         ",\"c\":" + Info("U8", "[1]", "[2,3]") + "}",
                     3),
            "no error");
}

TEST(SafeTensorsFormat, OffsetsTileTheData) {
  const auto u8 = [](int size, int begin, int end) {
    return Info("U8", "[" + std::to_string(size) + "]",
                "[" + std::to_string(begin) + "," + std::to_string(end) + "]");
  };
  EXPECT_EQ(ErrorFor(Two(u8(4, 4, 8), u8(4, 0, 4)), 8), "no error");
  EXPECT_THAT(ErrorFor(Two(u8(8, 0, 8), u8(8, 4, 12)), 12),
              HasSubstr("tensor b: begins at byte 4 where 8 was due (an "
                        "overlap)"));
  EXPECT_THAT(ErrorFor(Two(u8(4, 0, 4), u8(4, 8, 12)), 12),
              HasSubstr("a hole"));
  EXPECT_THAT(ErrorFor(One("U8", "[4]", "[1,5]"), 5), HasSubstr("a hole"));
  EXPECT_THAT(ErrorFor(One("U8", "[4]", "[4,0]"), 4),
              HasSubstr("its bytes [4, 0) are not within the 4 bytes"));
  EXPECT_THAT(ErrorFor(One("U8", "[4]", "[-4,0]"), 4), HasSubstr("negative"));
  EXPECT_THAT(ErrorFor(One("U8", "[8]", "[0,8]"), 4),
              HasSubstr("not within the 4 bytes"));
  EXPECT_THAT(ErrorFor(One("U8", "[4]", "[0,4]"), 9),
              HasSubstr("5 bytes of data belong to no tensor"));
  EXPECT_THAT(ErrorFor("{}", 1), HasSubstr("1 bytes of data"));
  EXPECT_THAT(ErrorFor(One("U8", "[4]", "[0,4,8]"), 4),
              HasSubstr("has 3 data_offsets"));
  EXPECT_THAT(ErrorFor(One("U8", "[4]", "[0,\"4\"]"), 4),
              HasSubstr("data_offsets: must be an integer"));
}

TEST(SafeTensorsFormat, IncompleteEntriesAreRefused) {
  EXPECT_THAT(ErrorFor(R"({"a":{"dtype":"U8","shape":[0]}})"),
              HasSubstr("tensor a: has no data_offsets"));
  EXPECT_THAT(ErrorFor(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"),
              HasSubstr("tensor a: has no shape"));
  EXPECT_THAT(ErrorFor(R"({"a":{"shape":[0],"data_offsets":[0,0]}})"),
              HasSubstr("tensor a: has no dtype"));
  EXPECT_THAT(ErrorFor(R"({"a":5})"), HasSubstr("tensor a: must be an object"));
}

TEST(SafeTensorsFormat, TypesNarrowerThanAByte) {
  EXPECT_EQ(ErrorFor(One("F4", "[2,8]", "[0,8]"), 8), "no error");
  EXPECT_EQ(ErrorFor(One("F6_E2M3", "[4]", "[0,3]"), 3), "no error");
  EXPECT_THAT(ErrorFor(One("F4", "[1,3]", "[0,2]"), 2),
              HasSubstr("F4 [1, 3] is not a whole number of bytes"));
  EXPECT_THAT(ErrorFor(One("F4", "[2,8]", "[0,64]"), 64),
              HasSubstr("needs 8 bytes but has 64"));
}

TEST(SafeTensorsFormat, EveryTypeHasItsWidth) {
  for (const SafeTensorsType& type : SafeTensorsTypes()) {
    const std::string bytes = std::to_string(type.bits);
    EXPECT_EQ(ErrorFor(One(type.name, "[8]", "[0," + bytes + "]"),
                       static_cast<size_t>(type.bits)),
              "no error")
        << type.name;
    if (type.dtype) {
      EXPECT_EQ(8 * ItemSize(*type.dtype), static_cast<size_t>(type.bits));
      EXPECT_STREQ(SafeTensorsTypeOf(*type.dtype).name, type.name);
    }
  }
}

TEST(SafeTensors, MisalignedDataAreCopied) {
  const TempDir dir;
  const float values[] = {1.5f, -2.0f};
  const std::string data(reinterpret_cast<const char*>(values), 8);
  for (int spaces = 0; spaces < 4; ++spaces) {
    const std::string header =
        One("F32", "[2]", "[0,8]") + std::string(spaces, ' ');
    WriteFile(dir / "x.safetensors", FileOf(header, data));
    SafeTensors file = SafeTensors::Open(dir / "x.safetensors");
    const TensorView view = file.Get("a");
    EXPECT_EQ(view.As<float>()[0], 1.5f);
    EXPECT_EQ(view.As<float>()[1], -2.0f);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % 4, 0u);
    EXPECT_EQ(view.data == file.Find("a")->data, header.size() % 4 == 0);
    EXPECT_EQ(file.Get("a").data, view.data);
    const SafeTensors moved = std::move(file);
    EXPECT_EQ(view.As<float>()[0], 1.5f);
  }
}

TEST(SafeTensors, BoolsAreZeroOrOne) {
  const TempDir dir;
  for (const std::string& data :
       {std::string("\0\1", 2), std::string("\0z", 2)}) {
    WriteFile(dir / "x.safetensors", FileOf(One("BOOL", "[2]", "[0,2]"), data));
    const SafeTensors file = SafeTensors::Open(dir / "x.safetensors");
    const TensorView view = file.Get("a");
    EXPECT_EQ(std::memcmp(view.data, "\0\1", 2), 0);
    EXPECT_EQ(view.data == file.Find("a")->data, data[1] == 1);
  }
}

TEST(SafeTensors, WhatCannotBeUsedIsNamed) {
  const TempDir dir;
  WriteFile(dir / "x.safetensors",
            FileOf(One("F8_E8M0", "[1]", "[0,1]"), "\x7f"));
  const SafeTensors file = SafeTensors::Open(dir / "x.safetensors");
  EXPECT_EQ(file.Find("a")->dtype, "F8_E8M0");
  EXPECT_EQ(file.Find("b"), nullptr);
  try {
    file.Get("a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
    EXPECT_THAT(error.what(),
                HasSubstr("type F8_E8M0 is not supported, tensor a"));
  }
  EXPECT_THAT(ErrorOf([&] { file.Get("b"); }),
              HasSubstr("there is no tensor b in it"));
}

TEST(SafeTensors, ATruncatedFileIsRefusedAtOpening) {
  const TempDir dir;
  const std::string whole = FileOf(One("F32", "[2]", "[0,8]"), "12345678");
  WriteFile(dir / "x.safetensors", whole);
  EXPECT_EQ(SafeTensors::Open(dir / "x.safetensors").entries().size(), 1u);
  WriteFile(dir / "x.safetensors", whole.substr(0, whole.size() - 4));
  EXPECT_THAT(ErrorOf([&] { SafeTensors::Open(dir / "x.safetensors"); }),
              HasSubstr("its bytes [0, 8) are not within the 4 bytes of data"));
}

// Kilobytes of the mapping around `address` that are in memory.
int ResidentKilobytes(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin, end;
    int kilobytes;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto wanted = reinterpret_cast<uintptr_t>(address);
      inside = begin <= wanted && wanted < end;
    } else if (inside &&
               std::sscanf(line.c_str(), "Rss: %d", &kilobytes) == 1) {
      return kilobytes;
    }
  }
  return -1;
}

TEST(SafeTensors, OpeningReadsNoWeights) {
  const TempDir dir;
  const std::string header = One("U8", "[67108864]", "[0,67108864]");
  WriteFile(dir / "x.safetensors", FileOf(header, ""));
  ASSERT_EQ(truncate((dir / "x.safetensors").c_str(),
                     static_cast<off_t>(8 + header.size() + 67108864)),
            0);
  const SafeTensors file = SafeTensors::Open(dir / "x.safetensors");
  file.Get("a");
  const int resident = ResidentKilobytes(file.Find("a")->data);
  EXPECT_GE(resident, 0);
  EXPECT_LE(resident, 4096);
}

class Shards : public testing::Test {
 protected:
  void SetUp() override {
    WriteFile(dir_ / "one.safetensors",
              FileOf("{\"__metadata__\":{\"format\":\"pt\"},\"a\":" +
                         Info("U8", "[1]", "[0,1]") +
                         ",\"unlisted\":" + Info("U8", "[1]", "[1,2]") + "}",
                     "1x"));
    WriteFile(dir_ / "two.safetensors",
              FileOf("{\"b\":" + Info("U8", "[1]", "[0,1]") + "}", "2"));
    WriteFile(dir_ / "stray.safetensors", "nonsense");
  }
  SafeTensors Open(const std::string& weight_map) {
    WriteFile(index_, R"({"metadata":{"total_size":2},"weight_map":)" +
                          weight_map + "}");
    return SafeTensors::Open(index_);
  }
  std::string ErrorFor(const std::string& weight_map) {
    return ErrorOf([&] { Open(weight_map); });
  }

  TempDir dir_;
  std::string index_ = dir_ / "model.safetensors.index.json";
};

TEST_F(Shards, AreReadTogether) {
  const SafeTensors file =
      Open(R"({"b":"two.safetensors","a":"one.safetensors"})");
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(*file.Get("a").As<uint8_t>(), '1');
  EXPECT_EQ(*file.Get("b").As<uint8_t>(), '2');
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST_F(Shards, LinksAreFollowed) {
  ASSERT_EQ(mkdir((dir_ / "blobs").c_str(), 0700), 0);
  ASSERT_EQ(rename((dir_ / "two.safetensors").c_str(),
                   (dir_ / "blobs/5feceb").c_str()),
            0);
  ASSERT_EQ(symlink("blobs/5feceb", (dir_ / "two.safetensors").c_str()), 0);
  EXPECT_EQ(*Open(R"({"b":"two.safetensors"})").Get("b").As<uint8_t>(), '2');
}

TEST_F(Shards, AMissingShardIsNamed) {
  EXPECT_THAT(ErrorFor(R"({"a":"one.safetensors","c":"three.safetensors"})"),
              AllOf(HasSubstr("model.safetensors.index.json: names the shard "),
                    HasSubstr("three.safetensors, which can't be read: no such "
                              "file or directory: fetch all files")));
}

TEST_F(Shards, NamesThatLeadElsewhereAreRefused) {
  for (const char* name :
       {"../x.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", "",
        "a\\\\b", "..\\u0000", "one.safetensors/"}) {
    EXPECT_THAT(ErrorFor(std::string("{\"a\":\"") + name + "\"}"),
                HasSubstr("which is no plain file name"))
        << name;
  }
}

TEST_F(Shards, AnIndexThatContradictsItsShardsIsRefused) {
  EXPECT_THAT(ErrorFor(R"({"a":"two.safetensors"})"),
              HasSubstr("places tensor a in two.safetensors, which does not "
                        "hold it"));
  EXPECT_THAT(ErrorFor(R"({"a":"one.safetensors","a":"one.safetensors"})"),
              HasSubstr("tensor a stands twice in weight_map"));
  EXPECT_THAT(ErrorFor(R"({"a":1})"),
              HasSubstr("weight_map: a: must be a string"));
  EXPECT_THAT(ErrorFor("[]"), HasSubstr("weight_map: must be an object"));
  EXPECT_THAT(ErrorFor(R"({"a":"stray.safetensors"})"),
              HasSubstr("stray.safetensors: header too large"));
  WriteFile(index_, "{}");
  EXPECT_THAT(ErrorOf([&] { SafeTensors::Open(index_); }),
              HasSubstr("has no weight_map"));
}

// The bytes that safetensors 0.8.0 (Python) writes for the same tensors.
TEST(WriteSafeTensors, SameBytesAsTheReference) {
  const float b[] = {0, 1, 2};
  const uint8_t a[] = {1, 2};
  const int64_t c = 5;
  const bool z[] = {true, false};
  const TempDir dir;
  WriteSafeTensors(dir / "x.safetensors",
                   {{"b", {b, {3}}},
                    {"a", {a, {2}}},
                    {"c", {&c, {}}},
                    {"e", {b, DType::kF16, {2, 0}}},
                    {"z", {z, {2}}}},
                   {{"format", "np"}});
  const std::string header =
      R"({"__metadata__":{"format":"np"},)"
      R"("c":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[3],"data_offsets":[8,20]},)"
      R"("e":{"dtype":"F16","shape":[2,0],"data_offsets":[20,20]},)"
      R"("a":{"dtype":"U8","shape":[2],"data_offsets":[20,22]},)"
      R"("z":{"dtype":"BOOL","shape":[2],"data_offsets":[22,24]}}       )";
  const std::string data("\5\0\0\0\0\0\0\0\0\0\0\0\0\0\x80?\0\0\0@\1\2\1\0",
                         24);
  EXPECT_EQ(header.size(), 0x138u);
  EXPECT_EQ(ReadText(dir / "x.safetensors"), FileOf(header, data));
}

TEST(WriteSafeTensors, ReadsBackFromAnyLayout) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const TensorView view = TensorView(values, {2, 3}).Transposed(0, 1);
  const TempDir dir;
  WriteSafeTensors(dir / "x.safetensors", {{"a\"b", view}});
  const SafeTensors file = SafeTensors::Open(dir / "x.safetensors");
  const TensorView read = file.Get("a\"b");
  EXPECT_EQ(read.shape, (Dims{3, 2}));
  EXPECT_THAT(std::vector<float>(read.As<float>(), read.As<float>() + 6),
              ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(WriteSafeTensors, RefusesNamesThatCannotBeRead) {
  const TempDir dir;
  const float x = 0;
  const TensorView view(&x, {1});
  const std::string path = dir / "x.safetensors";
  EXPECT_THAT(ErrorOf([&] {
                WriteSafeTensors(path, {{"a", view}, {"a", view}});
              }),
              HasSubstr("two tensors are named a"));
  EXPECT_THAT(ErrorOf([&] {
                WriteSafeTensors(path, {{"__metadata__", view}});
              }),
              HasSubstr("can't be the name"));
  EXPECT_THAT(ErrorOf([&] {
                WriteSafeTensors(path, {{"a\xff", view}});
              }),
              HasSubstr("can't be the name"));
  EXPECT_THAT(ErrorOf([&] {
                WriteSafeTensors(path, {{"a", TensorView()}});
              }),
              HasSubstr("it has no data"));
  EXPECT_EQ(dir.Names().size(), 0u);
}

}  // namespace
}  // namespace regard
