#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nettle/sha2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "io/file_error.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

const char* Hint(std::string_view action, int error_code) {
  switch (error_code) {
    case ENOENT:
      return action == "written" ? "make its directory first"
                                 : "check the path";
    case ENOTDIR:
      return "check the path";
    case EISDIR:
      return "name a file in it";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check its permissions, or choose another place";
    case ENOSPC:
    case EDQUOT:
      return "make room, or choose another place";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "";
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd, bool owned = true) : fd_(fd), owned_(owned) {}
  ~Descriptor() {
    if (owned_ && fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
  bool owned_;
};

struct stat StatOf(int fd, const std::string& path) {
  struct stat status;
  if (fstat(fd, &status) != 0) ThrowFileError(path, "read", errno);
  if (S_ISDIR(status.st_mode)) ThrowFileError(path, "read", EISDIR);
  return status;
}

}  // namespace

void ThrowFileError(const std::string& path, const char* action,
                    int error_code) {
  std::string cause = std::generic_category().message(error_code);
  if (!cause.empty() && cause[0] >= 'A' && cause[0] <= 'Z') {
    cause[0] = static_cast<char>(cause[0] - 'A' + 'a');
  }
  throw Error(ErrorKind::kFile, path,
              fmt::format("can't be {}: {}", action, cause),
              Hint(action, error_code));
}

MappedFile MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe would wait for somebody to write.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) ThrowFileError(path, "read", errno);
  const struct stat status = StatOf(file.get(), path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kFile, path, "a device or a pipe",
                "give a regular file");
  }
  MappedFile mapped;
  mapped.size_ = static_cast<size_t>(status.st_size);
  if (mapped.size_ == 0) return mapped;
  void* data =
      mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) ThrowFileError(path, "mapped", errno);
  mapped.data_ = static_cast<const uint8_t*>(data);
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::string ReadText(const std::string& path, size_t limit) {
  const bool is_stdin = path == "-";
  const Descriptor file(
      is_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC),
      !is_stdin);
  const std::string name = is_stdin ? "standard input" : path;
  if (file.get() < 0) ThrowFileError(name, "read", errno);
  const struct stat status = StatOf(file.get(), name);
  // One byte more than expected shows the end, or that the limit is passed.
  size_t step = 1 << 16;
  if (S_ISREG(status.st_mode)) {
    step = std::min(static_cast<size_t>(status.st_size), limit) + 1;
  }
  std::string text;
  for (size_t used = 0;;) {
    if (used == text.size()) text.resize(used + step);
    const ssize_t got =
        read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError(name, "read", errno);
    used += static_cast<size_t>(got);
    if (used > limit) {
      throw Error(ErrorKind::kSize, name,
                  fmt::format("longer than {} bytes", limit),
                  "give a smaller file");
    }
    if (got == 0) {
      text.resize(used);
      return text;
    }
  }
}

void WriteFile(const std::string& path, std::string_view bytes) {
  FileWriter writer(path);
  writer.Write(bytes);
  writer.Commit();
}

std::string Sha256Hex(const void* data, size_t size) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, size, static_cast<const uint8_t*>(data));
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(&context, sizeof(digest), digest);
  std::string hex;
  for (const uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace regard::inline v0
