#include "cli/model/model_hash.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/error.h"

namespace regard::inline v0 {
namespace {

// sha256sum of "abc", the example of FIPS 180-2.
constexpr char kAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class ModelHashTest : public ::testing::Test {
 protected:
  ModelHashTest() {
    setenv("XDG_CACHE_HOME", (directory_ / "cache").c_str(), 1);
    WriteFile(path_, "abc");
  }
  ~ModelHashTest() override { unsetenv("XDG_CACHE_HOME"); }

  std::string OnlyCacheFile() const {
    const std::filesystem::directory_iterator files(directory_ /
                                                    "cache/regard/sha256");
    return files->path().string();
  }

  TempDir directory_;
  const std::string path_ = directory_ / "x.safetensors";
};

TEST_F(ModelHashTest, IsRememberedUntilTheFileChanges) {
  EXPECT_EQ(FileSha256(path_), kAbc);
  // A digest that no file has shows where the answer comes from.
  const std::string cached = OnlyCacheFile();
  std::string line = ReadText(cached);
  WriteFile(cached, line.replace(0, 4, "0000"));
  EXPECT_EQ(FileSha256(path_).substr(0, 4), "0000");
  EXPECT_EQ(FileSha256(path_, /*verify=*/true), kAbc);
  EXPECT_EQ(FileSha256(path_), kAbc);

  WriteFile(path_, "abd");
  EXPECT_NE(FileSha256(path_), kAbc);
}

TEST_F(ModelHashTest, BrokenCacheIsIgnored) {
  FileSha256(path_);
  const std::string line = ReadText(OnlyCacheFile());
  for (const std::string& broken :
       {std::string(), std::string("x"), line.substr(1), line + line,
        std::string(line).replace(3, 1, "X")}) {
    WriteFile(OnlyCacheFile(), broken);
    EXPECT_EQ(FileSha256(path_), kAbc) << broken;
  }
}

TEST_F(ModelHashTest, CacheThatCannotBeWrittenIsNoError) {
  setenv("XDG_CACHE_HOME", path_.c_str(), 1);  // a file, not a folder
  EXPECT_EQ(FileSha256(path_), kAbc);
}

TEST_F(ModelHashTest, MissingFileIsAnError) {
  EXPECT_THROW(FileSha256(directory_ / "none"), Error);
}

TEST_F(ModelHashTest, ShardsAreHashedByName) {
  const std::string index = directory_ / "model.safetensors.index.json";
  WriteFile(index, R"({"weight_map":{"a":"2.st","b":"1.st","c":"2.st"}})");
  WriteFile((directory_ / "1.st"), "abc");
  WriteFile((directory_ / "2.st"), "abd");
  const std::string lines = FileSha256(directory_ / "1.st") + "  1.st\n" +
                            FileSha256(directory_ / "2.st") + "  2.st\n" +
                            FileSha256(index) +
                            "  model.safetensors.index.json\n";
  EXPECT_EQ(WeightsSha256(index), Sha256Hex(lines.data(), lines.size()));
  EXPECT_EQ(WeightsSha256(path_), kAbc);
}

}  // namespace
}  // namespace regard::inline v0
