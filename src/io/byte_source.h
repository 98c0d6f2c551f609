// Bytes that are read once, from front to back: a file in memory, or a member
// of an archive that is unpacked on the way.
#ifndef REGARD_SRC_IO_BYTE_SOURCE_H_
#define REGARD_SRC_IO_BYTE_SOURCE_H_

#include <cstdint>
#include <cstring>
#include <span>

namespace regard::inline v0 {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // What is left, as the file claims it; Read may still find it damaged.
  virtual uint64_t remaining() const = 0;
  // Fills `out`, which is not longer than remaining(). The read that reaches
  // the end checks the checksum where there is one. Error (kFormat).
  virtual void Read(std::span<uint8_t> out) = 0;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t remaining() const override { return bytes_.size(); }
  void Read(std::span<uint8_t> out) override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data(), out.size());
    bytes_ = bytes_.subspan(out.size());
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_BYTE_SOURCE_H_
