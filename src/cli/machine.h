// What the program knows about where it runs and how it was made.
#ifndef REGARD_SRC_CLI_MACHINE_H_
#define REGARD_SRC_CLI_MACHINE_H_

#include <string>

namespace regard::inline v0 {

// As Linux names it; "" elsewhere.
std::string ProcessorName();
// "g++ 12.2.0", "clang 14.0.6".
std::string CompilerName();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MACHINE_H_
