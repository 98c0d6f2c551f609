#include "capi/boundary.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace regard::inline v0 {

namespace {

// In a thread's own memory from its start: a message never needs memory that
// may not be there.
thread_local char last_message[1024] = "";

// Fills last_message; what doesn't fit is cut off between two characters.
class MessageWriter {
 public:
  ~MessageWriter() { *to_ = '\0'; }

  MessageWriter& operator<<(std::string_view text) {
    const size_t room =
        static_cast<size_t>(last_message + sizeof(last_message) - 1 - to_);
    size_t count = std::min(room, text.size());
    if (count < text.size()) {
      // Not inside a UTF-8 sequence.
      while (count > 0 && (text[count] & 0xC0) == 0x80) --count;
    }
    std::memcpy(to_, text.data(), count);
    to_ += count;
    return *this;
  }

 private:
  char* to_ = last_message;
};

// "AttentionPlan::Run: q" is about "q".
std::string_view WithoutFunction(std::string_view subject) {
  const size_t colon = subject.find(": ");
  return colon == subject.npos ? subject : subject.substr(colon + 2);
}

}  // namespace

regard_status StatusOf(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kUsage:
      return REGARD_ERROR_USAGE;
    case ErrorKind::kArgument:
      return REGARD_ERROR_ARGUMENT;
    case ErrorKind::kFile:
      return REGARD_ERROR_FILE;
    case ErrorKind::kFormat:
      return REGARD_ERROR_FORMAT;
    case ErrorKind::kUnsupported:
      return REGARD_ERROR_UNSUPPORTED;
    case ErrorKind::kSize:
      return REGARD_ERROR_SIZE;
    case ErrorKind::kMemory:
      return REGARD_ERROR_MEMORY;
  }
  return REGARD_ERROR_INTERNAL;
}

regard_status Report(const char* function) noexcept {
  MessageWriter message;
  message << function << ": ";
  try {
    throw;
  } catch (const Error& error) {
    message << WithoutFunction(error.subject()) << ": " << error.reason();
    if (!error.hint().empty()) message << ": " << error.hint();
    return StatusOf(error.kind());
  } catch (const std::bad_alloc&) {
    message << "not enough memory: use fewer threads or a smaller problem";
    return REGARD_ERROR_MEMORY;
  } catch (const StoppedByCallback&) {
    message << "callback: asked to stop";
    return REGARD_ERROR_STOPPED;
  } catch (const std::exception& error) {
    message << "unexpected exception: " << error.what();
    return REGARD_ERROR_INTERNAL;
  } catch (...) {
    message << "unexpected exception";
    return REGARD_ERROR_INTERNAL;
  }
}

std::vector<int64_t> Copied(const int64_t* list, int64_t count,
                            const char* name) {
  if (count < 0) {
    throw Error(ErrorKind::kArgument, name,
                std::to_string(count) + " is negative");
  }
  if (list == nullptr) return {};
  return {list, list + count};
}

}  // namespace regard::inline v0

const char* regard_last_message(void) { return regard::last_message; }

const char* regard_status_name(regard_status status) {
  switch (status) {
    case REGARD_OK:
      return "ok";
    case REGARD_ERROR_USAGE:
      return "usage";
    case REGARD_ERROR_ARGUMENT:
      return "argument";
    case REGARD_ERROR_FILE:
      return "file";
    case REGARD_ERROR_FORMAT:
      return "format";
    case REGARD_ERROR_UNSUPPORTED:
      return "unsupported";
    case REGARD_ERROR_SIZE:
      return "size";
    case REGARD_ERROR_MEMORY:
      return "memory";
    case REGARD_ERROR_STOPPED:
      return "stopped";
    case REGARD_ERROR_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}
