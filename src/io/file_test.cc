#include "io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/temp_dir.h"
#include "regard/error.h"

namespace regard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <typename Function>
std::string FileErrorOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFile);
    return error.what();
  }
  return "no error";
}

mode_t ModeOf(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

// Runs `body` in a child; its result is the child's exit status (98 when it
// throws).
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(body());
    } catch (...) {
      _exit(98);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The same without the rights of root, which no file resists.
template <typename Body>
int InChildOfNobody(Body body) {
  constexpr uid_t kNobody = 65534;
  return InChild([&] {
    if (geteuid() == 0 && seteuid(kNobody) != 0) return 99;
    return body();
  });
}

TEST(MappedFile, ShowsTheBytes) {
  const TempDir dir;
  WriteFile(dir / "x", "hello");
  const MappedFile file = MappedFile::Open(dir / "x");
  EXPECT_EQ(std::string(file.bytes().begin(), file.bytes().end()), "hello");
  WriteFile(dir / "y", "longer text");
  MappedFile moved = MappedFile::Open(dir / "x");
  moved = MappedFile::Open(dir / "y");
  EXPECT_EQ(std::string(moved.bytes().begin(), moved.bytes().end()),
            "longer text");
}

TEST(MappedFile, MayBeEmpty) {
  const TempDir dir;
  WriteFile(dir / "x", "");
  EXPECT_EQ(MappedFile::Open(dir / "x").size(), 0u);
}

TEST(MappedFile, OnlyRegularFiles) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(FileErrorOf([&] { MappedFile::Open(dir / "none"); }),
              HasSubstr("none: can't be read: no such file or directory: "
                        "check the path"));
  EXPECT_THAT(FileErrorOf([&] { MappedFile::Open(dir.path()); }),
              HasSubstr("is a directory"));
  EXPECT_THAT(FileErrorOf([&] { MappedFile::Open(dir / "pipe"); }),
              HasSubstr("a device or a pipe"));
  EXPECT_THAT(FileErrorOf([&] { MappedFile::Open("/dev/null"); }),
              HasSubstr("a device or a pipe"));
}

TEST(ReadText, ReadsAllUpToALimit) {
  const TempDir dir;
  const std::string text(200000, 'a');
  WriteFile(dir / "x", text);
  EXPECT_EQ(ReadText(dir / "x"), text);
  EXPECT_EQ(ReadText(dir / "x", text.size()), text);
  EXPECT_EQ(ReadText("/dev/null"), "");
  try {
    ReadText(dir / "x", text.size() - 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kSize);
    EXPECT_THAT(error.what(), HasSubstr("longer than 199999 bytes"));
  }
  EXPECT_THROW(ReadText("/dev/zero", 100000), Error);
  EXPECT_THAT(FileErrorOf([&] { ReadText(dir.path()); }),
              HasSubstr("is a directory"));
  EXPECT_THAT(FileErrorOf([&] { ReadText(dir / "none"); }),
              HasSubstr("no such file"));
}

TEST(FileWriter, AppearsAtCommitOnly) {
  const TempDir dir;
  {
    FileWriter writer(dir / "x");
    writer.Write("abc");
    writer.Write(std::string(100000, 'd'));
    writer.Write("e");
    EXPECT_NE(dir.Names(), std::vector<std::string>{"x"});
    EXPECT_EQ(dir.Names().size(), 1u);
    writer.Commit();
  }
  EXPECT_THAT(dir.Names(), ElementsAre("x"));
  EXPECT_EQ(ReadText(dir / "x"), "abc" + std::string(100000, 'd') + "e");
}

TEST(FileWriter, LeavesNothingWithoutCommit) {
  const TempDir dir;
  WriteFile(dir / "x", "old");
  {
    FileWriter writer(dir / "x");
    writer.Write(std::string(100000, 'd'));
  }
  EXPECT_THAT(dir.Names(), ElementsAre("x"));
  EXPECT_EQ(ReadText(dir / "x"), "old");
}

TEST(FileWriter, PermissionsAreThoseOfTheOldFileOrTheMask) {
  const TempDir dir;
  const mode_t mask = umask(027);
  WriteFile(dir / "new", "");
  umask(mask);
  EXPECT_EQ(ModeOf(dir / "new"), 0640u);
  chmod((dir / "new").c_str(), 0604);
  WriteFile(dir / "new", "x");
  EXPECT_EQ(ModeOf(dir / "new"), 0604u);
}

TEST(FileWriter, FollowsLinks) {
  const TempDir dir;
  ASSERT_EQ(mkdir((dir / "real").c_str(), 0700), 0);
  WriteFile(dir / "real/x", "old");
  ASSERT_EQ(symlink("real/x", (dir / "link").c_str()), 0);
  ASSERT_EQ(symlink((dir / "link").c_str(), (dir / "link2").c_str()), 0);
  ASSERT_EQ(symlink("real/new", (dir / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("loop", (dir / "loop").c_str()), 0);
  WriteFile(dir / "link2", "new");
  EXPECT_EQ(ReadText(dir / "real/x"), "new");
  WriteFile(dir / "dangling", "made");
  EXPECT_EQ(ReadText(dir / "real/new"), "made");
  EXPECT_THAT(FileErrorOf([&] { WriteFile(dir / "loop", "x"); }),
              HasSubstr("loop: can't be written: too many levels"));
  EXPECT_THAT(dir.Names(),
              ElementsAre("dangling", "link", "link2", "loop", "real"));
}

TEST(FileWriter, WritesThroughDevicesAndPipes) {
  const TempDir dir;
  // As nobody: a writer that renamed instead would replace the machine's own
  // devices.
  EXPECT_EQ(InChildOfNobody([] {
              WriteFile("/dev/null", "x");
              const std::string error =
                  FileErrorOf([] { WriteFile("/dev/full", "x"); });
              return error == "/dev/full: can't be written: no space left on "
                              "device: make room, or choose another place"
                         ? 0
                         : 1;
            }),
            0);
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  const int reader = open((dir / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  WriteFile(dir / "pipe", "through");
  char buffer[16];
  EXPECT_EQ(read(reader, buffer, sizeof(buffer)), 7);
  close(reader);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  WriteFile("/dev/fd/" + std::to_string(ends[1]), "fd");
  EXPECT_EQ(read(ends[0], buffer, sizeof(buffer)), 2);
  close(ends[0]);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_THAT(FileErrorOf([&] {
                WriteFile("/dev/fd/" + std::to_string(ends[1]), "fd");
              }),
              HasSubstr("broken pipe"));
  signal(SIGPIPE, SIG_DFL);
  close(ends[1]);
}

TEST(FileWriter, ADashIsStandardInputAndOutput) {
  const TempDir dir;
  WriteFile(dir / "in", std::string(100000, 'a'));
  EXPECT_EQ(InChild([&] {
              const int in = open((dir / "in").c_str(), O_RDONLY);
              const int out =
                  open((dir / "out").c_str(), O_WRONLY | O_CREAT, 0600);
              if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) {
                return 1;
              }
              const std::string text = ReadText("-");
              WriteFile("-", text + "b");
              WriteFile("/dev/stdout", "c");  // the same file goes on
              return text.size() == 100000 ? 0 : 2;
            }),
            0);
  EXPECT_EQ(ReadText(dir / "out"), std::string(100000, 'a') + "bc");
  EXPECT_THAT(dir.Names(), ElementsAre("in", "out"));
}

TEST(FileWriter, RefusesWhatCannotBeWritten) {
  const TempDir dir;
  EXPECT_THAT(FileErrorOf([&] { FileWriter writer(dir / "no/x"); }),
              HasSubstr("no/x: can't be written: no such file or directory: "
                        "make its directory first"));
  EXPECT_THAT(FileErrorOf([&] { FileWriter writer(dir.path()); }),
              HasSubstr("is a directory: name a file in it"));
  EXPECT_THAT(FileErrorOf([&] { FileWriter writer(dir / "x/"); }),
              HasSubstr("is a directory"));
  EXPECT_THAT(FileErrorOf([&] { FileWriter writer(""); }),
              HasSubstr("no such file"));
  EXPECT_THAT(
      FileErrorOf([&] { FileWriter writer(dir / std::string(300, 'x')); }),
      HasSubstr("choose a shorter name"));
  EXPECT_THAT(dir.Names(), IsEmpty());
}

TEST(FileWriter, RefusesWhatItMayNotWrite) {
  const TempDir dir;
  chmod(dir.path().c_str(), 0777);
  WriteFile(dir / "read_only", "old");
  chmod((dir / "read_only").c_str(), 0444);
  const auto refused = [](const std::string& path) {
    try {
      WriteFile(path, "new");
    } catch (const Error& error) {
      return std::string(error.what()).find("permission denied") !=
             std::string::npos;
    }
    return false;
  };
  EXPECT_EQ(InChildOfNobody([&] { return refused(dir / "read_only") ? 0 : 1; }),
            0);
  chmod(dir.path().c_str(), 0555);
  EXPECT_EQ(InChildOfNobody([&] { return refused(dir / "new") ? 0 : 1; }), 0);
  chmod(dir.path().c_str(), 0755);
  EXPECT_THAT(dir.Names(), ElementsAre("read_only"));
  EXPECT_EQ(ReadText(dir / "read_only"), "old");
}

TEST(FileWriter, LeavesNothingWhenTheDiskIsFull) {
  const TempDir dir;
  EXPECT_EQ(InChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit limit = {1000, 1000};
              setrlimit(RLIMIT_FSIZE, &limit);
              try {
                WriteFile(dir / "x", std::string(2000, 'x'));
              } catch (const Error& error) {
                return error.kind() == ErrorKind::kFile ? 0 : 1;
              }
              return 2;
            }),
            0);
  EXPECT_THAT(dir.Names(), IsEmpty());
}

TEST(FileWriter, AnInterruptRemovesUnfinishedFiles) {
  const TempDir dir;
  ASSERT_EQ(chdir(dir.path().c_str()), 0);
  EXPECT_EQ(InChild([] {
              signal(SIGINT, [](int) {
                RemoveUnfinishedFiles();
                _exit(130);
              });
              FileWriter done("done");
              done.Commit();
              FileWriter writer("x");
              writer.Write(std::string(100000, 'x'));
              if (chdir("/") != 0) return 1;
              raise(SIGINT);
              return 0;
            }),
            130);
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_THAT(dir.Names(), ElementsAre("done"));
}

TEST(FileWriter, AChildLeavesItsParentsFilesAlone) {
  const TempDir dir;
  FileWriter writer(dir / "x");
  EXPECT_EQ(InChild([] {
              RemoveUnfinishedFiles();
              return 0;
            }),
            0);
  writer.Commit();
  EXPECT_THAT(dir.Names(), ElementsAre("x"));
}

TEST(FileWriter, ManyAtOnce) {
  const TempDir dir;
  {
    std::vector<FileWriter> writers;
    for (int i = 0; i < 40; ++i) writers.emplace_back(dir / std::to_string(i));
    for (FileWriter& writer : writers) writer.Commit();
  }
  EXPECT_EQ(dir.Names().size(), 40u);
}

TEST(Sha256, KnownAnswers) {
  // FIPS 180-4, examples.
  EXPECT_EQ(Sha256Hex("abc", 3),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(nullptr, 0),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace regard
