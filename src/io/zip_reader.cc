#include "io/zip_reader.h"

#include <fmt/format.h>
#define ZLIB_CONST  // next_in is const
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "regard/error.h"

namespace regard::inline v0 {

namespace {

// Records and their sizes without the parts of variable length.
constexpr uint32_t kLocalMark = 0x04034b50;
constexpr size_t kLocalSize = 30;
constexpr uint32_t kMemberMark = 0x02014b50;
constexpr size_t kMemberSize = 46;
constexpr uint32_t kEndMark = 0x06054b50;
constexpr size_t kEndSize = 22;
constexpr uint32_t kZip64LocatorMark = 0x07064b50;
constexpr size_t kZip64LocatorSize = 20;
constexpr uint32_t kZip64EndMark = 0x06064b50;
constexpr size_t kZip64EndSize = 56;

constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kZip64Extra = 1;
// A deflated byte makes at most 1032 (zlib, "Maximum compression factor"); a
// block of some bytes is needed for even the first.
constexpr uint64_t kMaxRatio = 1032;

// Little-endian integers; the caller has checked the bounds.
template <typename Int>
Int Get(std::span<const uint8_t> bytes, size_t at) {
  Int value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

std::string Text(std::span<const uint8_t> bytes, size_t at, size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()) + at, size};
}

// The bytes of one member, unpacked and checked on the way.
class MemberSource : public ByteSource {
 public:
  MemberSource(std::span<const uint8_t> packed, const ZipReader::Member& member,
               std::string name)
      : packed_(packed),
        remaining_(member.size),
        wanted_crc_(member.crc),
        deflated_(member.method == kDeflated),
        name_(std::move(name)) {
    // Negative: no zlib header around the data.
    if (deflated_ && inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      throw Error(ErrorKind::kMemory, name_, "no memory to unpack it");
    }
  }
  ~MemberSource() override {
    if (deflated_) inflateEnd(&stream_);
  }
  MemberSource(const MemberSource&) = delete;
  MemberSource& operator=(const MemberSource&) = delete;

  uint64_t remaining() const override { return remaining_; }

  void Read(std::span<uint8_t> out) override {
    if (!out.empty()) Unpack(out);
    remaining_ -= out.size();
    if (remaining_ == 0 && crc_ != wanted_crc_)
      Damaged("its checksum is wrong");
  }

 private:
  [[noreturn]] void Damaged(const char* reason) const {
    throw Error(ErrorKind::kFormat, name_, reason,
                "the file is damaged, fetch or write it again");
  }

  void Unpack(std::span<uint8_t> out) {
    if (deflated_) {
      Inflate(out);
    } else {
      std::memcpy(out.data(), packed_.data(), out.size());
      packed_ = packed_.subspan(out.size());
    }
    crc_ = crc32_z(crc_, out.data(), out.size());
  }

  void Inflate(std::span<uint8_t> out) {
    // zlib counts with 32 bits.
    constexpr size_t kPiece = std::numeric_limits<uInt>::max();
    while (!out.empty()) {
      const size_t in_size = std::min(packed_.size(), kPiece);
      const size_t out_size = std::min(out.size(), kPiece);
      stream_.next_in = packed_.data();
      stream_.avail_in = static_cast<uInt>(in_size);
      stream_.next_out = out.data();
      stream_.avail_out = static_cast<uInt>(out_size);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      packed_ = packed_.subspan(in_size - stream_.avail_in);
      out = out.subspan(out_size - stream_.avail_out);
      if (status == Z_STREAM_END && out.empty()) return;
      if (status != Z_OK) Damaged("its compressed data are not valid");
    }
  }

  std::span<const uint8_t> packed_;
  uint64_t remaining_;
  uLong crc_ = 0;
  uLong wanted_crc_;
  bool deflated_;
  std::string name_;
  z_stream stream_ = {};
};

}  // namespace

ZipReader::ZipReader(std::span<const uint8_t> archive, std::string name)
    : archive_(archive), name_(std::move(name)) {
  ReadDirectory(FindDirectory());
}

void ZipReader::Damaged(const std::string& reason) const {
  throw Error(ErrorKind::kFormat, name_, reason,
              "the file is damaged, fetch or write it again");
}

ZipReader::Directory ZipReader::FindDirectory() const {
  if (archive_.size() < kEndSize) Damaged("too short for an archive");
  // The end record stands last, before a comment of at most 65,535 bytes.
  const size_t last = archive_.size() - kEndSize;
  const size_t first = last - std::min<size_t>(last, 0xFFFF);
  size_t at = last;
  const auto is_end = [&] {
    return Get<uint32_t>(archive_, at) == kEndMark &&
           Get<uint16_t>(archive_, at + 20) == last - at;
  };
  while (!is_end()) {
    if (at == first) {
      Damaged("no archive, or cut short: its directory is missing");
    }
    --at;
  }
  const Directory directory = {Get<uint16_t>(archive_, at + 10),
                               Get<uint32_t>(archive_, at + 12),
                               Get<uint32_t>(archive_, at + 16)};
  const bool zip64 =
      at >= kZip64LocatorSize &&
      Get<uint32_t>(archive_, at - kZip64LocatorSize) == kZip64LocatorMark;
  if (zip64) return ReadZip64End(at);
  if (Get<uint16_t>(archive_, at + 4) != 0 ||
      Get<uint16_t>(archive_, at + 6) != 0) {
    Damaged("part of an archive in several files");
  }
  if (directory.offset > at || directory.size > at - directory.offset) {
    Damaged("its directory lies outside the file");
  }
  return directory;
}

ZipReader::Directory ZipReader::ReadZip64End(uint64_t end_record) const {
  const uint64_t locator = end_record - kZip64LocatorSize;
  const auto at = Get<uint64_t>(archive_, locator + 8);
  if (at > locator || locator - at < kZip64EndSize ||
      Get<uint32_t>(archive_, at) != kZip64EndMark) {
    Damaged("its ZIP64 directory is missing");
  }
  const Directory directory = {Get<uint64_t>(archive_, at + 32),
                               Get<uint64_t>(archive_, at + 40),
                               Get<uint64_t>(archive_, at + 48)};
  if (directory.offset > at || directory.size > at - directory.offset) {
    Damaged("its directory lies outside the file");
  }
  return directory;
}

void ZipReader::ReadDirectory(const Directory& directory) {
  directory_offset_ = directory.offset;
  auto rest = archive_.subspan(directory.offset, directory.size);
  while (!rest.empty()) {
    if (rest.size() < kMemberSize || Get<uint32_t>(rest, 0) != kMemberMark) {
      Damaged("its directory is not valid");
    }
    const size_t size = kMemberSize + Get<uint16_t>(rest, 28) +
                        Get<uint16_t>(rest, 30) + Get<uint16_t>(rest, 32);
    if (size > rest.size()) Damaged("its directory is cut short");
    members_.push_back(ReadMember(rest.first(size)));
    rest = rest.subspan(size);
  }
  if (members_.size() != directory.count) {
    Damaged(fmt::format("its directory holds {} members, not {}",
                        members_.size(), directory.count));
  }
  std::vector<std::string_view> names;
  for (const Member& member : members_) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    Damaged(fmt::format("two members are named {}", *twice));
  }
}

ZipReader::Member ZipReader::ReadMember(std::span<const uint8_t> record) const {
  Member member;
  member.flags = Get<uint16_t>(record, 8);
  member.method = Get<uint16_t>(record, 10);
  member.crc = Get<uint32_t>(record, 16);
  member.packed_size = Get<uint32_t>(record, 20);
  member.size = Get<uint32_t>(record, 24);
  const size_t name_size = Get<uint16_t>(record, 28);
  const size_t extra_size = Get<uint16_t>(record, 30);
  member.offset = Get<uint32_t>(record, 42);
  member.name = Text(record, kMemberSize, name_size);
  // What does not fit 32 bits stands in the ZIP64 field, in this order.
  auto extra = record.subspan(kMemberSize + name_size, extra_size);
  while (extra.size() >= 4) {
    const auto id = Get<uint16_t>(extra, 0);
    const size_t size = Get<uint16_t>(extra, 2);
    if (size > extra.size() - 4) break;
    auto field = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
    if (id != kZip64Extra) continue;
    for (uint64_t* value :
         {&member.size, &member.packed_size, &member.offset}) {
      if (*value != 0xFFFFFFFF) continue;
      if (field.size() < 8) {
        Damaged(
            fmt::format("member {}: its ZIP64 sizes are missing", member.name));
      }
      *value = Get<uint64_t>(field, 0);
      field = field.subspan(8);
    }
    break;
  }
  return member;
}

std::unique_ptr<ByteSource> ZipReader::Open(const Member& member) const {
  const std::string name = fmt::format("{}: {}", name_, member.name);
  if (member.flags & kEncrypted) {
    throw Error(ErrorKind::kUnsupported, name, "encrypted",
                "write it without a password");
  }
  if (member.method != kStored && member.method != kDeflated) {
    throw Error(ErrorKind::kUnsupported, name,
                fmt::format("compression method {}", member.method),
                "stored and deflated members can be read");
  }
  // Members lie before the directory.
  const auto before = archive_.first(directory_offset_);
  if (member.offset > before.size() ||
      before.size() - member.offset < kLocalSize) {
    Damaged(fmt::format("member {} lies outside the file", member.name));
  }
  const auto local = before.subspan(member.offset);
  if (Get<uint32_t>(local, 0) != kLocalMark) {
    Damaged(
        fmt::format("member {} is not where the directory says", member.name));
  }
  const size_t name_size = Get<uint16_t>(local, 26);
  const size_t start = kLocalSize + name_size + Get<uint16_t>(local, 28);
  if (start > local.size() || member.packed_size > local.size() - start) {
    Damaged(fmt::format("member {} lies outside the file", member.name));
  }
  if (Text(local, kLocalSize, name_size) != member.name) {
    Damaged(fmt::format("member {} has another name in its own header",
                        member.name));
  }
  const bool plausible = member.method == kStored
                             ? member.size == member.packed_size
                             : member.size / kMaxRatio <= member.packed_size;
  if (!plausible) {
    Damaged(fmt::format("member {} claims to hold {} bytes in {}", member.name,
                        member.size, member.packed_size));
  }
  return std::make_unique<MemberSource>(
      local.subspan(start, member.packed_size), member, name);
}

}  // namespace regard::inline v0
