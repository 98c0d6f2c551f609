#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "io/file.h"
#include "io/temp_dir.h"
#include "io/zip_reader.h"
#include "io/zip_writer.h"
#include "regard/error.h"

namespace regard {
namespace {

using testing::HasSubstr;

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename Int>
Int IntAt(const std::string& bytes, size_t at) {
  Int value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
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

uint32_t Crc(const std::string& text) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

std::string Deflated(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An archive of one member "m"; the test then breaks it.
struct Archive {
  std::string local, data, entry;
  std::string Whole() const {
    const size_t offset = local.size() + data.size();
    return local + data + entry + ZipEnd(1, entry.size(), offset);
  }
};

Archive Stored(const std::string& text) {
  const ZipMember member = {"m", Crc(text), text.size(), 0};
  return {ZipLocalHeader(member), text, ZipDirectoryEntry(member)};
}

Archive DeflatedArchive(const std::string& text) {
  Archive archive = Stored(text);
  archive.data = Deflated(text);
  archive.entry[10] = 8;
  const auto size = static_cast<uint32_t>(archive.data.size());
  std::memcpy(archive.entry.data() + 20, &size, 4);
  return archive;
}

// Unpacks the only member.
std::string Unpack(const std::string& archive) {
  const ZipReader reader(Bytes(archive), "x.npz");
  const auto source = reader.Open(reader.members().at(0));
  std::string out(source->remaining(), '\0');
  // In two steps, as a reader of headers does.
  const size_t first = out.size() / 3;
  const std::span<uint8_t> span(reinterpret_cast<uint8_t*>(out.data()),
                                out.size());
  source->Read(span.first(first));
  source->Read(span.subspan(first));
  return out;
}

TEST(ZipReader, UnpacksStoredAndDeflated) {
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string(100000, 'x')}) {
    EXPECT_EQ(Unpack(Stored(text).Whole()), text);
    EXPECT_EQ(Unpack(DeflatedArchive(text).Whole()), text);
  }
}

TEST(ZipReader, AnArchiveMayEndInAComment) {
  std::string whole = Stored("hello").Whole();
  whole[whole.size() - 2] = 7;
  EXPECT_EQ(Unpack(whole + "comment"), "hello");
  EXPECT_THAT(ErrorOf([&] { Unpack(whole); }),
              HasSubstr("directory is missing"));
}

TEST(ZipReader, EveryTruncationIsFound) {
  for (const Archive& archive : {Stored("hello"), DeflatedArchive("hello")}) {
    const std::string whole = archive.Whole();
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(ErrorOf([&] { Unpack(whole.substr(0, size)); }), "no error")
          << size;
    }
  }
}

TEST(ZipReader, DamagedDataAreFound) {
  Archive archive = Stored("hello");
  archive.data = "hellO";
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("x.npz: m: its checksum is wrong"));
  archive = DeflatedArchive("hello");
  archive.data[0] = '\xFF';
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("its compressed data are not valid"));
  // More and fewer bytes than promised.
  for (const char size : {'\4', '\6'}) {
    archive = DeflatedArchive("hello");
    archive.entry[24] = size;
    EXPECT_NE(ErrorOf([&] { Unpack(archive.Whole()); }), "no error");
  }
}

TEST(ZipReader, ImplausibleSizesAreRefusedBeforeUse) {
  const uint32_t gigabyte = 1 << 30;
  Archive archive = DeflatedArchive("hello");
  std::memcpy(archive.entry.data() + 24, &gigabyte, 4);
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("member m claims to hold 1073741824 bytes in 7"));
  archive = Stored("hello");
  std::memcpy(archive.entry.data() + 24, &gigabyte, 4);
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("claims to hold 1073741824 bytes in 5"));
  std::memcpy(archive.entry.data() + 20, &gigabyte, 4);
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("member m lies outside the file"));
}

TEST(ZipReader, WhatCannotBeReadIsNamed) {
  Archive archive = Stored("hello");
  archive.entry[8] = 1;
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("x.npz: m: encrypted"));
  archive = Stored("hello");
  archive.entry[10] = 12;
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("compression method 12"));
}

TEST(ZipReader, ADirectoryThatLiesIsRefused) {
  const Archive good = Stored("hello");
  Archive archive = good;
  archive.entry[42] = 1;
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("member m is not where the directory says"));
  archive = good;
  archive.entry[45] = 1;
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("member m lies outside the file"));
  archive = good;
  archive.local[30] = 'n';
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("member m has another name in its own header"));
  archive = good;
  archive.entry[28] = 99;  // a name longer than the directory
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("its directory is cut short"));
  archive = good;
  archive.entry += archive.entry;
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("its directory holds 2 members, not 1"));
  const std::string twice =
      good.local + good.data + good.entry + good.entry +
      ZipEnd(2, 2 * good.entry.size(), good.local.size() + good.data.size());
  EXPECT_THAT(ErrorOf([&] { Unpack(twice); }),
              HasSubstr("two members are named m"));
  const auto with_directory_at = [&](uint64_t offset) {
    return ErrorOf([&] {
      Unpack(good.local + good.data + good.entry + ZipEnd(1, 47, offset));
    });
  };
  EXPECT_THAT(with_directory_at(uint64_t{1} << 31),
              HasSubstr("its directory lies outside the file"));
  EXPECT_THAT(with_directory_at(uint64_t{1} << 63),
              HasSubstr("its ZIP64 directory is missing"));
}

TEST(ZipReader, Zip64SizesAreRead) {
  // A member of five bytes whose sizes stand in the ZIP64 field.
  Archive archive = Stored("hello");
  std::string& entry = archive.entry;
  for (size_t i = 20; i < 28; ++i) entry[i] = '\xFF';
  for (size_t i = 42; i < 46; ++i) entry[i] = '\xFF';
  entry[30] = 28;
  const std::string incomplete = entry + std::string("\1\0\0\0", 4);
  std::string field("\1\0\x18\0\5\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0", 20);
  entry += field + std::string(8, '\0');
  EXPECT_EQ(Unpack(archive.Whole()), "hello");
  // Behind a field of another kind.
  entry.insert(47, std::string("\x99\0\1\0x", 5));
  entry[30] = 33;
  EXPECT_EQ(Unpack(archive.Whole()), "hello");
  entry = incomplete;
  entry[30] = 4;
  EXPECT_THAT(ErrorOf([&] { Unpack(archive.Whole()); }),
              HasSubstr("member m: its ZIP64 sizes are missing"));
}

TEST(ZipReader, TheZip64EndIsRead) {
  const Archive good = Stored("hello");
  const size_t offset = good.local.size() + good.data.size();
  // The writer adds a ZIP64 end when the count needs it; the true one goes in.
  std::string end = ZipEnd(0xFFFF, good.entry.size(), offset);
  ASSERT_EQ(end.size(), 56u + 20u + 22u);
  const uint64_t one = 1;
  std::memcpy(end.data() + 24, &one, 8);
  std::memcpy(end.data() + 32, &one, 8);
  EXPECT_EQ(Unpack(good.local + good.data + good.entry + end), "hello");
  const std::string whole = good.local + good.data + good.entry + end;
  std::string lying = whole;
  lying[whole.size() - 98 + 48 + 7] = '\x7F';
  EXPECT_THAT(ErrorOf([&] { Unpack(lying); }),
              HasSubstr("its directory lies outside the file"));
  end[56 + 8] = '\x7F';
  EXPECT_THAT(
      ErrorOf([&] { Unpack(good.local + good.data + good.entry + end); }),
      HasSubstr("its ZIP64 directory is missing"));
}

TEST(ZipWriter, HeadersOfLargeMembers) {
  const uint64_t large = (uint64_t{5} << 30) + 7;
  const ZipMember member = {"m.npy", 0x12345678, large, large + 100};
  const std::string local = ZipLocalHeader(member);
  EXPECT_EQ(IntAt<uint16_t>(local, 4), 45);
  EXPECT_EQ(IntAt<uint32_t>(local, 18), 0xFFFFFFFF);
  EXPECT_EQ(IntAt<uint32_t>(local, 22), 0xFFFFFFFF);
  EXPECT_EQ(IntAt<uint16_t>(local, 28), 20);
  EXPECT_EQ(local.size(), 30u + 5u + 20u);
  EXPECT_EQ(IntAt<uint16_t>(local, 35), 1);
  EXPECT_EQ(IntAt<uint64_t>(local, 39), large);
  EXPECT_EQ(IntAt<uint64_t>(local, 47), large);
  const std::string entry = ZipDirectoryEntry(member);
  EXPECT_EQ(IntAt<uint32_t>(entry, 42), 0xFFFFFFFF);
  EXPECT_EQ(IntAt<uint16_t>(entry, 30), 28);
  EXPECT_EQ(IntAt<uint64_t>(entry, entry.size() - 8), large + 100);
  // A small member far behind: only its offset is long.
  const std::string far = ZipDirectoryEntry({"m.npy", 0, 10, large});
  EXPECT_EQ(IntAt<uint32_t>(far, 24), 10u);
  EXPECT_EQ(IntAt<uint16_t>(far, 30), 12);
  EXPECT_EQ(IntAt<uint64_t>(far, far.size() - 8), large);
}

TEST(ZipWriter, Zip64BeginsAtTheLimits) {
  const auto is_zip64 = [](uint64_t size, uint64_t offset) {
    return ZipDirectoryEntry({"m", 0, size, offset}).size() > 47;
  };
  EXPECT_FALSE(is_zip64(0xFFFFFFFE, 0));
  EXPECT_TRUE(is_zip64(0xFFFFFFFF, 0));
  EXPECT_FALSE(is_zip64(0, 0xFFFFFFFE));
  EXPECT_TRUE(is_zip64(0, 0xFFFFFFFF));
  EXPECT_EQ(ZipEnd(0xFFFE, 0xFFFFFFFE, 0xFFFFFFFE).size(), 22u);
  EXPECT_EQ(ZipEnd(0xFFFF, 0, 0).size(), 98u);
  EXPECT_EQ(ZipEnd(0, 0xFFFFFFFF, 0).size(), 98u);
  const uint64_t large = uint64_t{5} << 30;
  const std::string end = ZipEnd(70000, 300, large);
  EXPECT_EQ(IntAt<uint64_t>(end, 24), 70000u);
  EXPECT_EQ(IntAt<uint64_t>(end, 48), large);
  EXPECT_EQ(IntAt<uint64_t>(end, 56 + 8), large + 300);
  EXPECT_EQ(IntAt<uint16_t>(end, 76 + 10), 0xFFFF);
  EXPECT_EQ(IntAt<uint32_t>(end, 76 + 16), 0xFFFFFFFF);
}

TEST(ZipWriter, SameMembersSameBytes) {
  const TempDir dir;
  for (const char* name : {"a.npz", "b.npz"}) {
    ZipWriter writer(dir / name);
    writer.Add("one", {"hello ", std::string_view(), "world"});
    writer.Add("zwei\u00e9", {});
    writer.Commit();
  }
  const std::string bytes = ReadText(dir / "a.npz");
  EXPECT_EQ(bytes, ReadText(dir / "b.npz"));
  const ZipReader reader(Bytes(bytes), "a.npz");
  ASSERT_EQ(reader.members().size(), 2u);
  EXPECT_EQ(reader.members()[0].name, "one");
  EXPECT_EQ(reader.members()[0].size, 11u);
  EXPECT_EQ(reader.members()[0].crc, Crc("hello world"));
  EXPECT_EQ(reader.members()[0].flags, 0);
  EXPECT_EQ(reader.members()[1].flags, 1 << 11);  // UTF-8
}

TEST(ZipWriter, RefusesNamesThatCannotBeRead) {
  const TempDir dir;
  {
    ZipWriter writer(dir / "a.npz");
    writer.Add("one", {});
    EXPECT_THAT(ErrorOf([&] { writer.Add("one", {}); }),
                HasSubstr("added twice"));
    EXPECT_THAT(ErrorOf([&] { writer.Add(std::string(70000, 'x'), {}); }),
                HasSubstr("70000 bytes long"));
  }
  EXPECT_TRUE(dir.Names().empty());
}

}  // namespace
}  // namespace regard
