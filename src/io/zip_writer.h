// Writes a .zip archive of stored members from front to back, with ZIP64 where
// sizes need it and without dates. (minizip and libzip seek back to fill in
// sizes, so they can't write to a pipe; the container is all that is needed
// beside zlib's checksum.)
// Source: PKWARE, APPNOTE.TXT 6.3.10.
#ifndef REGARD_SRC_IO_ZIP_WRITER_H_
#define REGARD_SRC_IO_ZIP_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace regard::inline v0 {

// What the headers of a stored member say.
struct ZipMember {
  std::string name;
  uint32_t crc = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // of its local header
};

std::string ZipLocalHeader(const ZipMember& member);
std::string ZipDirectoryEntry(const ZipMember& member);
// What closes an archive of `count` members whose directory of `size` bytes
// begins at `offset`.
std::string ZipEnd(uint64_t count, uint64_t size, uint64_t offset);

class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}
  // Adds a member whose bytes are `parts`, one after the other. Error
  // (kArgument) for a name that is used twice or too long, (kFile).
  void Add(const std::string& name, const std::vector<std::string_view>& parts);
  void Commit();

 private:
  void Write(std::string_view bytes);

  FileWriter file_;
  uint64_t offset_ = 0;
  std::vector<ZipMember> members_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_ZIP_WRITER_H_
