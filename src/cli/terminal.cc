#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/display_width.h"
#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw Error(
          ErrorKind::kFile, "stdout",
          std::string("can't be written (") + std::strerror(errno) + ")",
          "free some space or send the output elsewhere");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

bool WantsColor(ColorMode mode) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return isatty(STDOUT_FILENO) == 1;
}

int TerminalWidth() {
  constexpr int kDefault = 80;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return kDefault;
  return size.ws_col > 0 ? size.ws_col : kDefault;
}

}  // namespace

Console::Console(ColorMode color, bool quiet)
    : quiet_(quiet),
      color_(WantsColor(color)),
      is_terminal_(isatty(STDOUT_FILENO) == 1),
      shows_progress_(!quiet && isatty(STDERR_FILENO) == 1),
      width_(TerminalWidth()) {}

void Console::Print(std::string_view text) {
  constexpr size_t kEnough = 1 << 16;
  pending_ += text;
  if (pending_.size() >= kEnough) Flush();
}

void Console::PrintJson(const Json& value) { Print(value.Dump() + "\n"); }

void Console::Flush() {
  // Taken out first: what could not be written is not tried again.
  const std::string bytes = std::move(pending_);
  pending_.clear();
  WriteAll(STDOUT_FILENO, bytes);
}

void Console::Note(std::string_view text) {
  if (quiet_) return;
  if (is_terminal_) Flush();
  const std::string line = "regard: note: " + VisibleText(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Progress::Progress(const Console& console, std::string label, int64_t total)
    : shown_(console.shows_progress() && total > 0),
      label_(std::move(label)),
      total_(total) {}

Progress::~Progress() { Clear(); }

void Progress::Clear() {
  if (drawn_.exchange(false)) std::fputs("\r\033[K", stderr);
}

void Progress::Add(int64_t steps) {
  constexpr int64_t kRedrawMs = 100;
  const int64_t done = done_ += steps;
  if (!shown_) return;
  const int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                         Clock::now() - start_)
                         .count();
  int64_t next = next_ms_;
  if (ms < next || !next_ms_.compare_exchange_strong(next, ms + kRedrawMs)) {
    return;
  }
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const double left = static_cast<double>(ms) * 1e-3 * (1 / share - 1);
  drawn_ = true;
  std::fprintf(stderr, "\r\033[K%s  %d %%  %.0f s left", label_.c_str(),
               static_cast<int>(100 * share), std::max(left, 0.0));
}

}  // namespace regard::inline v0
