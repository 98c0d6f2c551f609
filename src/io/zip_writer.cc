#include "io/zip_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <type_traits>

#include "regard/error.h"

namespace regard::inline v0 {

namespace {

constexpr uint32_t kMax32 = 0xFFFFFFFF;  // "see the ZIP64 field"
constexpr uint16_t kMax16 = 0xFFFF;
constexpr uint16_t kVersion = 20;
constexpr uint16_t kVersionZip64 = 45;
constexpr uint16_t kUtf8Names = 1 << 11;
constexpr uint16_t kFirstDay = 1 << 5 | 1;  // 1980-01-01: the format needs one

// Appends little-endian integers of the given type.
template <typename Int>
void Put(std::string* out, std::type_identity_t<Int> value) {
  for (size_t i = 0; i < sizeof(Int); ++i) {
    *out += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

uint32_t Low32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, kMax32));
}

uint16_t Flags(const std::string& name) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return (c & 0x80) == 0; });
  return ascii ? 0 : kUtf8Names;
}

// The ZIP64 field with those of `values` that need it; "" when none does.
std::string Zip64Field(const std::vector<uint64_t>& values) {
  std::string body;
  for (const uint64_t value : values) {
    if (value >= kMax32) Put<uint64_t>(&body, value);
  }
  if (body.empty()) return "";
  std::string field;
  Put<uint16_t>(&field, 1);
  Put<uint16_t>(&field, static_cast<uint16_t>(body.size()));
  return field + body;
}

// The part that local header and directory entry share.
void PutCommon(std::string* out, const ZipMember& member, bool zip64,
               size_t extra_size) {
  Put<uint16_t>(out, zip64 ? kVersionZip64 : kVersion);  // needed to read it
  Put<uint16_t>(out, Flags(member.name));
  Put<uint16_t>(out, 0);  // stored
  Put<uint16_t>(out, 0);  // time
  Put<uint16_t>(out, kFirstDay);
  Put<uint32_t>(out, member.crc);
  Put<uint32_t>(out, Low32(member.size));  // packed
  Put<uint32_t>(out, Low32(member.size));
  Put<uint16_t>(out, static_cast<uint16_t>(member.name.size()));
  Put<uint16_t>(out, static_cast<uint16_t>(extra_size));
}

}  // namespace

std::string ZipLocalHeader(const ZipMember& member) {
  const std::string extra = Zip64Field({member.size, member.size});
  std::string out;
  Put<uint32_t>(&out, 0x04034b50);
  PutCommon(&out, member, !extra.empty(), extra.size());
  return out + member.name + extra;
}

std::string ZipDirectoryEntry(const ZipMember& member) {
  const std::string extra =
      Zip64Field({member.size, member.size, member.offset});
  std::string out;
  Put<uint32_t>(&out, 0x02014b50);
  Put<uint16_t>(&out, extra.empty() ? kVersion : kVersionZip64);  // made by
  PutCommon(&out, member, !extra.empty(), extra.size());
  Put<uint16_t>(&out, 0);  // comment
  Put<uint16_t>(&out, 0);  // number of the file
  Put<uint16_t>(&out, 0);  // attributes
  Put<uint32_t>(&out, 0);
  Put<uint32_t>(&out, Low32(member.offset));
  return out + member.name + extra;
}

std::string ZipEnd(uint64_t count, uint64_t size, uint64_t offset) {
  std::string out;
  if (count >= kMax16 || size >= kMax32 || offset >= kMax32) {
    Put<uint32_t>(&out, 0x06064b50);
    Put<uint64_t>(&out, 44);  // bytes that follow
    Put<uint16_t>(&out, kVersionZip64);
    Put<uint16_t>(&out, kVersionZip64);
    Put<uint64_t>(&out, 0);  // numbers of the file
    Put<uint64_t>(&out, count);
    Put<uint64_t>(&out, count);
    Put<uint64_t>(&out, size);
    Put<uint64_t>(&out, offset);
    Put<uint32_t>(&out, 0x07064b50);
    Put<uint32_t>(&out, 0);
    Put<uint64_t>(&out, offset + size);
    Put<uint32_t>(&out, 1);  // files in all
  }
  const auto count16 = static_cast<uint16_t>(std::min<uint64_t>(count, kMax16));
  Put<uint32_t>(&out, 0x06054b50);
  Put<uint32_t>(&out, 0);  // numbers of the file
  Put<uint16_t>(&out, count16);
  Put<uint16_t>(&out, count16);
  Put<uint32_t>(&out, Low32(size));
  Put<uint32_t>(&out, Low32(offset));
  Put<uint16_t>(&out, 0);  // comment
  return out;
}

void ZipWriter::Write(std::string_view bytes) {
  file_.Write(bytes);
  offset_ += bytes.size();
}

void ZipWriter::Add(const std::string& name,
                    const std::vector<std::string_view>& parts) {
  for (const ZipMember& other : members_) {
    if (other.name == name) {
      throw Error(ErrorKind::kArgument, name, "added twice to one archive");
    }
  }
  if (name.size() > kMax16) {
    throw Error(ErrorKind::kArgument, "the name of an archive's member",
                fmt::format("{} bytes long", name.size()));
  }
  ZipMember member = {name, 0, 0, offset_};
  uLong crc = 0;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;  // zlib starts over when it gets no address
    crc =
        crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    member.size += part.size();
  }
  member.crc = static_cast<uint32_t>(crc);
  Write(ZipLocalHeader(member));
  for (const std::string_view part : parts) Write(part);
  members_.push_back(std::move(member));
}

void ZipWriter::Commit() {
  const uint64_t begin = offset_;
  for (const ZipMember& member : members_) Write(ZipDirectoryEntry(member));
  Write(ZipEnd(members_.size(), offset_ - begin, begin));
  file_.Commit();
}

}  // namespace regard::inline v0
