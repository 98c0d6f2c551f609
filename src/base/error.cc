#include "regard/error.h"

#include <utility>

#include "base/strings.h"

namespace regard::inline v0 {

Error::Error(ErrorKind kind, std::string subject, std::string reason,
             std::string hint)
    : kind_(kind),
      subject_(EscapeControls(subject)),
      reason_(EscapeControls(reason)),
      hint_(EscapeControls(hint)) {
  message_ = subject_ + ": " + reason_;
  if (!hint_.empty()) message_ += ": " + hint_;
}

}  // namespace regard::inline v0
