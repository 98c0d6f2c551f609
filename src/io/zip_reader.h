// The members of a .zip archive in memory: stored or deflated, with ZIP64.
// Source: PKWARE, APPNOTE.TXT 6.3.10.
#ifndef REGARD_SRC_IO_ZIP_READER_H_
#define REGARD_SRC_IO_ZIP_READER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/byte_source.h"

namespace regard::inline v0 {

class ZipReader {
 public:
  struct Member {
    std::string name;
    uint16_t flags = 0;
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t packed_size = 0;
    uint64_t size = 0;
    uint64_t offset = 0;  // of its local header
  };

  // Reads the directory only. `name` stands in messages. Error (kFormat).
  ZipReader(std::span<const uint8_t> archive, std::string name);

  // In the order of the directory; names are unique.
  const std::vector<Member>& members() const { return members_; }
  // Its sizes are plausible: nothing unpacks to more than deflate can hold, so
  // that remaining() may be trusted with memory. The archive's bytes must
  // outlive the result. Error (kFormat, kUnsupported).
  std::unique_ptr<ByteSource> Open(const Member& member) const;

 private:
  struct Directory {
    uint64_t count, size, offset;
  };
  Directory FindDirectory() const;
  Directory ReadZip64End(uint64_t end_record) const;
  void ReadDirectory(const Directory& directory);
  Member ReadMember(std::span<const uint8_t> record) const;
  [[noreturn]] void Damaged(const std::string& reason) const;

  std::span<const uint8_t> archive_;
  std::string name_;
  uint64_t directory_offset_ = 0;
  std::vector<Member> members_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_ZIP_READER_H_
