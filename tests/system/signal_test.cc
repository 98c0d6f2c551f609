// Ctrl-C, closed pipes, and what a terminal is shown.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "base/display_width.h"
#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/io.h"
#include "run_regard.h"
#include "tiny_model.h"

namespace regard::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

// A file other than q.npy that has begun to grow.
bool IsBeingWritten(const TempDir& folder) {
  for (const std::string& name : folder.Names()) {
    struct stat status;
    if (name != "q.npy" && stat((folder / name).c_str(), &status) == 0 &&
        status.st_size > 0) {
      return true;
    }
  }
  return false;
}

TEST(SignalTest, InterruptLeavesNoFile) {
  // 67 MB of weights: writing them takes long enough to be met.
  const TempDir folder;
  WriteNpy(folder / "q.npy", Tensor(DType::kF32, {4096, 4}));
  for (const auto& [number, status] :
       {std::pair(SIGINT, 130), std::pair(SIGTERM, -SIGTERM)}) {
    const pid_t child =
        StartRegard({"attend", "--q", "q.npy", "--k", "q.npy", "--v", "q.npy",
                     "--weights", "-o", "out.npz"},
                    {.directory = folder.path()});
    EXPECT_TRUE(WaitUntil([&] { return IsBeingWritten(folder); }));
    kill(child, number);
    EXPECT_EQ(WaitFor(child), status);
    EXPECT_THAT(folder.Names(), ElementsAre("q.npy"));
  }
}

TEST(SignalTest, InterruptEndsWaiting) {
  const TempDir folder;
  WriteTinyModel(folder / "tiny");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const pid_t child =
      StartRegard({"tokenize", "--model", "./tiny", "--file", "pipe"},
                  {.directory = folder.path()});
  // Opening fails as long as nobody reads; then nothing is written.
  int pipe = -1;
  EXPECT_TRUE(WaitUntil([&] {
    pipe = open((folder / "pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return pipe >= 0;
  }));
  kill(child, SIGINT);
  EXPECT_EQ(WaitFor(child), 130);
  close(pipe);
}

TEST(SignalTest, ClosedPipeIsQuiet) {
  const TempDir folder;
  WriteTinyModel(folder / "tiny");
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "it was the animal\n";
  WriteFile(folder / "lines.txt", text);
  EXPECT_EQ(RunShell("cd " + folder.path() +
                     " && \"$REGARD\" tokenize --model ./tiny --lines --file "
                     "lines.txt 2>err | head -n 1 >out"),
            0);
  EXPECT_EQ(ReadText(folder / "out"),
            "2 9 6 4 5 3\t[CLS] it was the animal [SEP]\n");
  EXPECT_EQ(ReadText(folder / "err"), "");
}

TEST(TerminalTest, TablesAreAligned) {
  const TempDir folder;
  WriteTinyModel(folder / "tiny");
  const Finished finished =
      RunOnTerminal({"tokenize", "--model", "./tiny", "it 東 was"}, 80,
                    {.directory = folder.path()});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.out,
            "token  id  piece  offsets  text\n"
            "    0   2  [CLS]\n"
            "    1   9  it     0-2      it\n"
            "    2   1  [UNK]  3-4      東\n"
            "    3   6  was    5-8      was\n"
            "    4   3  [SEP]\n");
}

TEST(TerminalTest, WidthIsRespected) {
  for (const int columns : {50, 72, 100}) {
    const std::string page = RunOnTerminal({"--help"}, columns).out;
    size_t begin = 0, widest = 0;
    for (size_t end; (end = page.find('\n', begin)) != page.npos;
         begin = end + 1) {
      const std::string line = page.substr(begin, end - begin);
      // An example can be pasted only when it is one line.
      if (line.starts_with("  regard ")) continue;
      widest = std::max(widest, static_cast<size_t>(DisplayWidth(line)));
    }
    EXPECT_LE(widest, static_cast<size_t>(columns));
    EXPECT_GT(widest, 40u);
  }
}

TEST(TerminalTest, ColourWhereItIsWanted) {
  const TempDir folder;
  WriteTinyModel(folder / "tiny");
  const auto colours = [&](std::vector<std::string> options,
                           const std::string& term,
                           const std::string& no_color) {
    options.insert(options.begin(), {"map", "--model", "./tiny", "it was"});
    const Finished finished = RunOnTerminal(
        options, 80,
        {.directory = folder.path(),
         .environment = {{"TERM", term}, {"NO_COLOR", no_color}}});
    EXPECT_EQ(finished.status, 0) << finished.out;
    return finished.out.find('\x1b') != std::string::npos;
  };
  EXPECT_TRUE(colours({}, "xterm", ""));
  EXPECT_FALSE(colours({}, "dumb", ""));
  EXPECT_FALSE(colours({}, "xterm", "1"));
  EXPECT_TRUE(colours({"--color", "always"}, "xterm", "1"));
  EXPECT_FALSE(colours({"--color", "never"}, "xterm", ""));
}

TEST(TerminalTest, HostileTextDoesNotReachTheTerminal) {
  const TempDir folder;
  WriteTinyModel(folder / "tiny");
  const Finished finished = RunOnTerminal({"tokenize", "--model", "./tiny",
                                           "w\x1b"
                                           "as w\xE2\x80\xAE"
                                           "as"},
                                          80, {.directory = folder.path()});
  EXPECT_EQ(finished.status, 0);
  // The tokenizer drops them, the column of the original text has them.
  EXPECT_THAT(finished.out, HasSubstr("w\\x1bas"));
  EXPECT_EQ(finished.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(finished.out.find("\xE2\x80\xAE"), std::string::npos);
}

}  // namespace
}  // namespace regard::inline v0
