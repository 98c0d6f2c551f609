// Where results, notes and progress go, and what that place can show.
#ifndef REGARD_SRC_CLI_TERMINAL_H_
#define REGARD_SRC_CLI_TERMINAL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace regard::inline v0 {

class Json;

enum class ColorMode { kAuto, kAlways, kNever };

// Results go to stdout, everything else to stderr.
class Console {
 public:
  Console() = default;
  Console(ColorMode color, bool quiet);

  // Adds to the results. Error (kFile) when stdout can't be written.
  void Print(std::string_view text);
  // One line of JSON.
  void PrintJson(const Json& value);
  // Sends what Print has gathered.
  void Flush();

  // "regard: note: TEXT" on stderr; nothing with --quiet.
  void Note(std::string_view text);

  bool color() const { return color_; }
  // Columns of the terminal; 80 for a pipe or a file.
  int width() const { return width_; }
  // stdout is a terminal.
  bool is_terminal() const { return is_terminal_; }
  // stderr is a terminal and not told to be quiet.
  bool shows_progress() const { return shows_progress_; }

 private:
  std::string pending_;
  bool quiet_ = false, color_ = false;
  bool is_terminal_ = false, shows_progress_ = false;
  int width_ = 80;
};

// A line on stderr with the share done and the time left; only on a terminal,
// only when the work has lasted longer than half a second. It is gone when the
// object is. Update may be called from any thread.
class Progress {
 public:
  Progress(const Console& console, std::string label, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Add(int64_t steps);
  // Takes the line away until it is drawn again: before something is printed.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  const bool shown_;
  const std::string label_;
  const int64_t total_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<int64_t> done_{0};
  std::atomic<int64_t> next_ms_{500};
  std::atomic<bool> drawn_{false};
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_TERMINAL_H_
