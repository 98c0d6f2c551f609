#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "io/file.h"
#include "io/file_error.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

// The unfinished files of this process, in memory that a signal handler may
// read. A file beyond the last slot is still removed by its writer, only not by
// the handler.
struct Slot {
  enum State { kFree, kClaimed, kActive };
  std::atomic<int> state = kFree;
  std::atomic<pid_t> owner = 0;
  char path[PATH_MAX] = {};
};
constexpr size_t kSlots = 16;
constinit std::array<Slot, kSlots> unfinished;
static_assert(std::atomic<int>::is_always_lock_free);

// nullptr when all are taken or the path is too long.
Slot* Register(const std::string& path) {
  if (path.size() >= PATH_MAX) return nullptr;
  for (Slot& slot : unfinished) {
    int expected = Slot::kFree;
    if (!slot.state.compare_exchange_strong(expected, Slot::kClaimed)) continue;
    std::memcpy(slot.path, path.c_str(), path.size() + 1);
    slot.owner = getpid();
    slot.state = Slot::kActive;
    return &slot;
  }
  return nullptr;
}

void Unregister(Slot* slot) {
  if (slot != nullptr) slot->state = Slot::kFree;
}

// Absolute, so that the handler finds the file after a change of directory.
std::string Absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  char directory[PATH_MAX];
  if (getcwd(directory, sizeof(directory)) == nullptr) {
    ThrowFileError(path, "written", errno);
  }
  return std::string(directory) + "/" + path;
}

std::string ParentOf(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

// The file that the name stands for, which need not exist.
std::string FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the kernel
  std::string target = Absolute(path);
  for (int i = 0; i < kMaxLinks; ++i) {
    char buffer[PATH_MAX];
    const ssize_t length = readlink(target.c_str(), buffer, sizeof(buffer));
    if (length < 0) return target;  // no link, or nothing there
    const std::string next(buffer, static_cast<size_t>(length));
    target = next.starts_with('/') ? next : ParentOf(target) + next;
  }
  ThrowFileError(path, "written", ELOOP);
}

// The descriptor that a name like /dev/stdout or /dev/fd/3 stands for.
std::optional<int> OpenDescriptor(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string digits = path.substr(folder.size());
    if (digits.empty() || digits.size() > 6 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    return std::stoi(digits);
  }
  return std::nullopt;
}

std::string TemporaryName(const std::string& target) {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0) {
    static std::atomic<uint64_t> counter;
    random = ++counter;
  }
  return fmt::format("{}.regard-{}-{:x}.tmp", ParentOf(target), getpid(),
                     random);
}

}  // namespace

class FileWriter::State {
 public:
  explicit State(const std::string& path)
      : name_(path == "-" ? "standard output" : path) {
    if (const auto descriptor = OpenDescriptor(path)) {
      fd_ = fcntl(*descriptor, F_DUPFD_CLOEXEC, 0);
      if (fd_ < 0) Fail(errno);
      return;
    }
    struct stat status;
    const bool exists = stat(path.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) Fail(errno);
    if (exists && S_ISDIR(status.st_mode)) Fail(EISDIR);
    if (exists && !S_ISREG(status.st_mode)) {
      fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd_ < 0) Fail(errno);
      return;
    }
    if (path.empty() || path.ends_with('/'))
      Fail(path.empty() ? ENOENT : EISDIR);
    // Renaming would replace a file that may not be written.
    if (exists && faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
      Fail(errno);
    }
    target_ = FollowLinks(path);
    CreateTemporary();
    if (exists && fchmod(fd_, status.st_mode & 07777) != 0) {
      const int error = errno;
      Discard();
      Fail(error);
    }
  }

  ~State() { Discard(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void Write(std::string_view bytes) {
    if (fd_ < 0) Fail(EBADF);
    if (buffer_.size() + bytes.size() <= kBufferSize) {
      buffer_ += bytes;
      return;
    }
    Flush();
    if (bytes.size() < kBufferSize) {
      buffer_ += bytes;
    } else {
      WriteThrough(bytes);
    }
  }

  void Commit() {
    if (fd_ < 0) Fail(EBADF);
    Flush();
    // Some file systems tell only now that the disk is full.
    if (close(std::exchange(fd_, -1)) != 0 && errno != EINTR) Fail(errno);
    if (temporary_.empty()) return;
    if (rename(temporary_.c_str(), target_.c_str()) != 0) Fail(errno);
    Unregister(std::exchange(slot_, nullptr));
    temporary_.clear();
  }

 private:
  static constexpr size_t kBufferSize = 1 << 16;

  [[noreturn]] void Fail(int error) const {
    ThrowFileError(name_, "written", error);
  }

  void CreateTemporary() {
    for (;;) {
      temporary_ = TemporaryName(target_);
      // Before the file exists, so that no signal comes in between.
      slot_ = Register(temporary_);
      fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 0666);
      if (fd_ >= 0) return;
      const int error = errno;
      Unregister(std::exchange(slot_, nullptr));
      temporary_.clear();
      if (error != EEXIST) Fail(error);
    }
  }

  void Flush() {
    WriteThrough(buffer_);
    buffer_.clear();
  }

  void WriteThrough(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int error = errno;
        Discard();
        Fail(error);
      }
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  void Discard() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
    if (!temporary_.empty()) unlink(temporary_.c_str());
    temporary_.clear();
    Unregister(std::exchange(slot_, nullptr));
  }

  std::string name_;    // as the caller spells it
  std::string target_;  // absolute, links followed
  std::string temporary_;
  std::string buffer_;
  Slot* slot_ = nullptr;
  int fd_ = -1;
};

FileWriter::FileWriter(const std::string& path)
    : state_(std::make_unique<State>(path)) {}
FileWriter::~FileWriter() = default;
FileWriter::FileWriter(FileWriter&&) noexcept = default;
void FileWriter::Write(std::string_view bytes) { state_->Write(bytes); }
void FileWriter::Commit() { state_->Commit(); }

void RemoveUnfinishedFiles() noexcept {
  const int saved_errno = errno;
  for (Slot& slot : unfinished) {
    // A forked child leaves its parent's files alone.
    if (slot.state == Slot::kActive && slot.owner == getpid()) {
      unlink(slot.path);
    }
  }
  errno = saved_errno;
}

}  // namespace regard::inline v0
