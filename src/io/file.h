// Reading and writing files safely.
#ifndef REGARD_SRC_IO_FILE_H_
#define REGARD_SRC_IO_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace regard::inline v0 {

// A whole file mapped read-only; it must be a regular file. Its size is taken
// once, at opening; whoever cuts a file short while it is mapped ends the
// process, as with every mapping. Error (kFile).
class MappedFile {
 public:
  static MappedFile Open(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const uint8_t* data_ = nullptr;  // null when the file is empty
  size_t size_ = 0;
};

// The whole text of a file, pipe or device ("-": stdin). Error (kFile), (kSize)
// above `limit` bytes.
std::string ReadText(const std::string& path, size_t limit = size_t{1} << 30);

// Writes a file beside its target and renames it when Commit is called; without
// Commit nothing stays. The file that is replaced hands on its permissions. A
// link is followed; devices and pipes are written through; "-" is stdout. Error
// (kFile) naming path and cause (full disk, missing directory, no permission).
// A closed pipe raises SIGPIPE, as with every write; where that is ignored, it
// is an Error too.
class FileWriter {
 public:
  explicit FileWriter(const std::string& path);
  ~FileWriter();
  FileWriter(FileWriter&&) noexcept;
  void Write(std::string_view bytes);
  void Commit();

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Unlinks the unfinished files of this process; async-signal-safe, for a
// handler of SIGINT.
void RemoveUnfinishedFiles() noexcept;

// The three steps in one.
void WriteFile(const std::string& path, std::string_view bytes);

// Lower-case hex SHA-256.
std::string Sha256Hex(const void* data, size_t size);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_FILE_H_
