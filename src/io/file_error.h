// What the operating system refused, as an Error.
#ifndef REGARD_SRC_IO_FILE_ERROR_H_
#define REGARD_SRC_IO_FILE_ERROR_H_

#include <string>

namespace regard::inline v0 {

// Throws an Error of kind kFile: "PATH: can't be ACTION: cause: what to do".
// `error_code` is an errno value.
[[noreturn]] void ThrowFileError(const std::string& path, const char* action,
                                 int error_code);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_FILE_ERROR_H_
