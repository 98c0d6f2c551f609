// The example as people run it.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/io.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;

struct Finished {
  std::string output;
  int status;
};

Finished RunExample(const std::string& arguments) {
  const std::string command =
      std::string(REGARD_EXAMPLE) + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Finished finished;
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    finished.output.append(buffer.data(), n);
  }
  finished.status = pclose(pipe);
  return finished;
}

const std::string kWeights =
    std::string(REGARD_SOURCE_DIR) +
    "/tests/golden/modules/self_attention_embedding.safetensors";

TEST(SelfAttentionExampleTest, PrintsShapesAndThePyTorchMatrix) {
  const TempDir temp;
  const Finished finished = RunExample(temp / "a.svg " + kWeights);
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.output, HasSubstr("SelfAttention(512, 64)\n"
                                         "  input   [2, 6, 512]\n"
                                         "  output  [2, 6, 64]\n"
                                         "  weights [2, 6, 6]\n"));
  EXPECT_THAT(finished.output, HasSubstr("SelfAttention(16)\n"
                                         "  input   [3, 5, 16]\n"
                                         "  output  [3, 5, 16]\n"
                                         "  weights [3, 5, 5]\n"));
  const SafeTensors golden = SafeTensors::Open(kWeights);
  const float* wanted = golden.Get("weights").As<float>();
  const size_t matrix = finished.output.find("sum 1)\n");
  ASSERT_NE(matrix, std::string::npos);
  std::istringstream numbers(finished.output.substr(matrix + 7));
  for (int i = 0; i < 25; ++i) {
    std::string number;
    numbers >> number;
    ASSERT_EQ(number.size(), 5u) << "three decimals: " << number;
    EXPECT_NEAR(std::stod(number), wanted[i], 0.0005 + 1e-6);
  }
}

TEST(SelfAttentionExampleTest, DrawsTheMap) {
  const TempDir temp;
  ASSERT_EQ(RunExample(temp / "a.svg").status, 0);
  const std::string svg = ReadText(temp / "a.svg");
  for (const char* part : {"<svg", "query position", "key/value position",
                           "Self-attention weights", "0.4"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  ASSERT_EQ(RunExample(temp / "b.svg").status, 0);
  EXPECT_EQ(svg, ReadText(temp / "b.svg"));
}

TEST(SelfAttentionExampleTest, SaysWhatIsWrong) {
  const TempDir temp;
  const Finished missing =
      RunExample(temp / "a.svg " + temp / "no.safetensors");
  EXPECT_NE(missing.status, 0);
  EXPECT_THAT(missing.output, HasSubstr("no.safetensors"));
  EXPECT_NE(RunExample("/nowhere/a.svg").status, 0);
}

}  // namespace
}  // namespace regard::inline v0
