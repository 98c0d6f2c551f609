#ifndef REGARD_SRC_CLI_SIGNALS_H_
#define REGARD_SRC_CLI_SIGNALS_H_

namespace regard::inline v0 {

// Ctrl-C ends the program with 130, a closed pipe ends it quietly; neither
// leaves an unfinished file behind. A file size limit becomes an error of
// write().
void InstallSignalHandlers();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_SIGNALS_H_
