#include "run_regard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace regard::inline v0 {

namespace {

constexpr unsigned kSecondsToLive = 60;

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  void CloseRead() { Close(ends[0]); }
  void CloseWrite() { Close(ends[1]); }

  std::array<int, 2> ends = {-1, -1};

 private:
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

// In the child, between fork and exec.
[[noreturn]] void Become(const std::vector<std::string>& arguments,
                         const RunSettings& settings) {
  // What a test runner or a terminal set up is not the program's.
  for (const int number : {SIGINT, SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  for (const char* name : {"NO_COLOR", "COLUMNS", "REGARD_MAX_ISA"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : settings.environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  if (!settings.directory.empty() && chdir(settings.directory.c_str()) != 0) {
    _exit(99);
  }
  if (settings.file_size_limit) {
    const rlimit limit = {*settings.file_size_limit, *settings.file_size_limit};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (settings.memory_limit) {
    const rlimit limit = {*settings.memory_limit, *settings.memory_limit};
    setrlimit(RLIMIT_AS, &limit);
  }
  std::vector<char*> argv = {const_cast<char*>("regard")};
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  alarm(kSecondsToLive);  // survives exec
  execv(REGARD_PROGRAM, argv.data());
  _exit(98);
}

// Feeds `input` and drains both outputs, whichever is ready.
void Exchange(std::string_view input, Pipe& in, Pipe& out, Pipe& err,
              Finished& finished) {
  fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  bool out_open = true, err_open = true;
  const auto drain = [](int fd, std::string& text) {
    std::array<char, 1 << 16> buffer;
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n > 0) text.append(buffer.data(), static_cast<size_t>(n));
    return n > 0;
  };
  while (out_open || err_open) {
    if (input.empty()) in.CloseWrite();
    std::array<pollfd, 3> fds = {{{out_open ? out.ends[0] : -1, POLLIN, 0},
                                  {err_open ? err.ends[0] : -1, POLLIN, 0},
                                  {in.ends[1], POLLOUT, 0}}};
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) out_open = drain(fds[0].fd, finished.out);
    if (fds[1].revents != 0) err_open = drain(fds[1].fd, finished.err);
    if (fds[2].revents != 0) {
      const ssize_t n = write(fds[2].fd, input.data(), input.size());
      // A program that does not read its input is fine.
      input.remove_prefix(n > 0 ? static_cast<size_t>(n) : input.size());
    }
  }
}

}  // namespace

int WaitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t StartRegard(const std::vector<std::string>& arguments,
                  const RunSettings& settings) {
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      dup2(null, fd);
    }
    Become(arguments, settings);
  }
  return child;
}

Finished RunOnTerminal(const std::vector<std::string>& arguments, int columns,
                       const RunSettings& settings) {
  winsize size = {};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) Become(arguments, settings);
  Finished finished;
  std::array<char, 1 << 12> buffer;
  // At the child's end reading fails.
  for (ssize_t n; (n = read(terminal, buffer.data(), buffer.size())) > 0;) {
    finished.out.append(buffer.data(), static_cast<size_t>(n));
  }
  close(terminal);
  finished.status = WaitFor(child);
  // The terminal made two characters of each line end.
  std::erase(finished.out, '\r');
  return finished;
}

int RunShell(const std::string& command) {
  setenv("REGARD", REGARD_PROGRAM, 1);
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Finished RunRegard(const std::vector<std::string>& arguments,
                   const RunSettings& settings) {
  signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  const pid_t child = fork();
  if (child == 0) {
    dup2(in.ends[0], STDIN_FILENO);
    const int target =
        settings.stdout_path
            ? open(settings.stdout_path->c_str(), O_WRONLY | O_CREAT, 0666)
            : out.ends[1];
    dup2(target, STDOUT_FILENO);
    dup2(err.ends[1], STDERR_FILENO);
    Become(arguments, settings);
  }
  in.CloseRead();
  out.CloseWrite();
  err.CloseWrite();
  Finished finished;
  Exchange(settings.input, in, out, err, finished);
  finished.status = WaitFor(child);
  return finished;
}

void ExpectError(const Finished& finished, int status,
                 const ::testing::Matcher<const std::string&>& line) {
  EXPECT_EQ(finished.status, status) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(finished.err.starts_with("regard: ")) << finished.err;
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1)
      << finished.err;
  EXPECT_TRUE(finished.err.ends_with('\n'));
  EXPECT_THAT(finished.err, line);
}

Json JsonOf(const Finished& finished) {
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  return Json::Parse(finished.out, "stdout");
}

}  // namespace regard::inline v0
