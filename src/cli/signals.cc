#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

#include "io/file.h"

namespace regard::inline v0 {

namespace {

void OnInterrupt(int) {
  RemoveUnfinishedFiles();
  constexpr int kInterrupted = 130;
  _exit(kInterrupted);
}

// Cleans up, then ends as the signal would have ended the program.
void OnEnd(int signal_number) {
  RemoveUnfinishedFiles();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void Install(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  // What the parent ignores (nohup, a shell's background job) stays ignored.
  if (sigaction(signal_number, nullptr, &action) == 0 &&
      action.sa_handler == SIG_IGN && signal_number != SIGPIPE) {
    return;
  }
  action = {};
  action.sa_handler = handler;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers() {
  Install(SIGINT, OnInterrupt);
  Install(SIGTERM, OnEnd);
  Install(SIGHUP, OnEnd);
  Install(SIGPIPE, OnEnd);
  signal(SIGXFSZ, SIG_IGN);
}

}  // namespace regard::inline v0
