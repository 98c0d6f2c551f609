// The one exception type of the library.
//
// A message always answers three questions: what went wrong, why, and what to
// do about it. The library throws before it has written anything; it never
// prints, aborts or exits.
#ifndef REGARD_ERROR_H_
#define REGARD_ERROR_H_

#include <exception>
#include <string>

namespace regard::inline v0 {

enum class ErrorKind {
  kUsage,        // the request names something that does not exist (a head, a
                 // token) or contradicts itself; the program exits with 2
  kArgument,     // an argument of a library call breaks a rule (shape, range)
  kFile,         // a file can't be read or written
  kFormat,       // the bytes of a file are not what they claim to be
  kUnsupported,  // valid, but not something this version can do
  kSize,         // the result would be larger than allowed
  kMemory,       // not enough memory
};

// `what()` is "subject: reason: hint" on one line, without the hint when that
// is empty. Control characters that came in with user data are escaped.
class Error : public std::exception {
 public:
  // `subject`: what the sentence is about ("model.safetensors",
  // "Attend: mask"); `reason`: what is wrong with it, with the numbers;
  // `hint`: what to do.
  Error(ErrorKind kind, std::string subject, std::string reason,
        std::string hint = "");

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& subject() const noexcept { return subject_; }
  const std::string& reason() const noexcept { return reason_; }
  const std::string& hint() const noexcept { return hint_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string subject_, reason_, hint_, message_;
};

}  // namespace regard::inline v0

#endif  // REGARD_ERROR_H_
