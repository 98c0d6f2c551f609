// regard attend: arrays in, arrays and summaries out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <span>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/io.h"
#include "run_regard.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor Random(const Dims& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> numbers;
  Tensor tensor(DType::kF32, shape);
  float* values = tensor.AsMutable<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    values[i] = numbers(random);
  }
  return tensor;
}

// One head in double, straight from the definition. `score` may change a score
// or hide the key by -infinity.
std::vector<double> Expected(
    const float* q, const float* k, const float* v, int64_t queries,
    int64_t keys, int64_t size, int64_t value_size,
    const std::function<double(int64_t, int64_t, double)>& score) {
  std::vector<double> out(static_cast<size_t>(queries * value_size));
  for (int64_t i = 0; i < queries; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t c = 0; c < size; ++c) {
        dot += double{q[i * size + c]} * double{k[j * size + c]};
      }
      const double s = score(i, j, dot / std::sqrt(static_cast<double>(size)));
      weights.push_back(std::exp(s));
      sum += weights.back();
    }
    for (int64_t j = 0; sum > 0 && j < keys; ++j) {
      for (int64_t c = 0; c < value_size; ++c) {
        out[static_cast<size_t>(i * value_size + c)] +=
            weights[static_cast<size_t>(j)] / sum *
            double{v[j * value_size + c]};
      }
    }
  }
  return out;
}

class AttendTest : public ::testing::Test {
 protected:
  // Arrays of these shapes as q.npy, k.npy, v.npy.
  void WriteArrays(const Dims& q, const Dims& k, const Dims& v) {
    q_ = Random(q, 1);
    k_ = Random(k, 2);
    v_ = Random(v, 3);
    WriteNpy(folder_ / "q.npy", q_);
    WriteNpy(folder_ / "k.npy", k_);
    WriteNpy(folder_ / "v.npy", v_);
  }

  Finished Attend(std::vector<std::string> options,
                  RunSettings settings = {}) const {
    std::vector<std::string> arguments = {"attend", "--q", "q.npy", "--k",
                                          "k.npy",  "--v", "v.npy"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    settings.directory = folder_.path();
    return RunRegard(arguments, settings);
  }

  Tensor Output(std::vector<std::string> options) const {
    options.insert(options.end(), {"-o", "out.npy", "--quiet"});
    const Finished finished = Attend(options);
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_EQ(finished.err + finished.out, "");
    return ReadArray(folder_ / "out.npy");
  }

  TempDir folder_;
  Tensor q_, k_, v_;
};

TEST_F(AttendTest, HeadSizes) {
  for (const int64_t size : {1, 59, 80, 576}) {
    WriteArrays({5, size}, {7, size}, {7, 3});
    const Tensor out = Output({});
    EXPECT_EQ(out.shape(), Dims({5, 3}));
    const std::vector<double> expected =
        Expected(q_.As<float>(), k_.As<float>(), v_.As<float>(), 5, 7, size, 3,
                 [](int64_t, int64_t, double s) { return s; });
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(out.As<float>()[i], expected[i], 1e-6) << size;
    }
  }
}

TEST_F(AttendTest, StandardInput) {
  WriteArrays({2, 5, 8}, {2, 7, 8}, {2, 7, 3});
  const Tensor expected = Output({});
  for (const std::string option : {"--q", "--k", "--v"}) {
    std::vector<std::string> arguments = {"attend", "--q",   "q.npy",
                                          "--k",    "k.npy", "--v",
                                          "v.npy",  "-o",    "out.npy"};
    const auto spec = std::find(arguments.begin(), arguments.end(), option) + 1;
    RunSettings settings = {.input = ReadText(folder_ / *spec),
                            .directory = folder_.path()};
    *spec = "-";
    std::filesystem::remove(folder_ / "out.npy");
    const Finished finished = RunRegard(arguments, settings);
    ASSERT_EQ(finished.status, 0) << finished.err;
    const Tensor out = ReadArray(folder_ / "out.npy");
    EXPECT_THAT(std::span(out.As<float>(), out.NumElements()),
                ElementsAreArray(expected.As<float>(), out.NumElements()))
        << option;
  }
  ExpectError(
      RunRegard({"attend", "--q", "-", "--k", "-", "--v", "v.npy"}, {}), 2,
      HasSubstr("-: standard input can only be one of the arrays: save"));
  ExpectError(RunRegard({"attend", "--q", "-", "--k", "k.npy", "--v", "v.npy"},
                        {.input = "no array", .directory = folder_.path()}),
              1, HasSubstr("standard input: "));
}

TEST_F(AttendTest, OffsetsThatAreTooLarge) {
  WriteArrays({5, 8}, {7, 8}, {7, 3});
  for (const std::string offset :
       {"9223372036854775807", "-9223372036854775808", "4611686018427387905",
        "99999999999999999999"}) {
    ExpectError(Attend({"--causal", "offset", "--offset", offset}), 2,
                AllOf(HasSubstr("--offset: '" + offset + "' is not a whole"),
                      HasSubstr("to 4611686018427387904")));
  }
  // The largest one shows all keys.
  const Tensor out =
      Output({"--causal", "offset", "--offset", "4611686018427387904"});
  const Tensor full = Output({});
  EXPECT_THAT(std::span(out.As<float>(), out.NumElements()),
              ElementsAreArray(full.As<float>(), full.NumElements()));
}

TEST_F(AttendTest, MasksOfAllKindsIntersect) {
  WriteArrays({1, 2, 4, 8}, {1, 1, 6, 8}, {1, 1, 6, 2});
  // One mask for both heads, of rank 2; a bias for each head, of rank 4.
  const bool allowed[4][6] = {{true, true, true, true, true, true},
                              {true, false, true, true, true, true},
                              {false, false, false, false, false, false},
                              {true, true, true, false, true, true}};
  WriteNpy(folder_ / "m.npy", TensorView(&allowed[0][0], {4, 6}));
  const float bias[2] = {0.5f, -2.0f};
  WriteNpy(folder_ / "b.npy", TensorView(bias, {1, 2, 1, 1}));
  const Tensor out =
      Output({"--causal", "bottom-right", "--window", "3,none", "--mask",
              "m.npy", "--bias", "b.npy", "--softcap", "2"});
  for (int64_t head = 0; head < 2; ++head) {
    const std::vector<double> expected = Expected(
        q_.As<float>() + head * 4 * 8, k_.As<float>(), v_.As<float>(), 4, 6, 8,
        2, [&](int64_t i, int64_t j, double s) {
          const int64_t at = i + 2;  // the last query stands at the last key
          const bool visible = j <= at && at - j < 3 && allowed[i][j];
          return visible ? 2 * std::tanh(s / 2) + double{bias[head]}
                         : -kInfinity;
        });
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(out.As<float>()[head * 8 + static_cast<int64_t>(i)],
                  expected[i], 1e-6);
    }
  }
}

TEST_F(AttendTest, RanksAndMembersOfTheResult) {
  WriteArrays({4, 5, 8}, {2, 7, 8}, {2, 7, 3});
  ASSERT_EQ(Attend({"--lse", "--weights", "-o", "out.npz"}).status, 0);
  EXPECT_THAT(ListArrays(folder_ / "out.npz"),
              ElementsAre("out", "lse", "weights"));
  EXPECT_EQ(ReadArray(folder_ / "out.npz:out").shape(), Dims({4, 5, 3}));
  EXPECT_EQ(ReadArray(folder_ / "out.npz:lse").shape(), Dims({4, 5}));
  EXPECT_EQ(ReadArray(folder_ / "out.npz:weights").shape(), Dims({4, 5, 7}));
  ASSERT_EQ(Attend({"-o", "out.safetensors"}).status, 0);
  EXPECT_THAT(ListArrays(folder_ / "out.safetensors"), ElementsAre("out"));
}

TEST_F(AttendTest, SameInputSameBytes) {
  WriteArrays({2, 4, 33, 16}, {2, 4, 33, 16}, {2, 4, 33, 16});
  const std::vector<std::string> options = {"--causal", "top-left", "--weights",
                                            "--lse"};
  const auto bytes = [&](const char* name, const char* threads) {
    std::vector<std::string> all = options;
    all.insert(all.end(), {"-o", name, "--threads", threads});
    EXPECT_EQ(Attend(all).status, 0);
    return ReadText(folder_ / name);
  };
  const std::string first = bytes("a.npz", "1");
  EXPECT_EQ(bytes("b.npz", "2"), first);
  EXPECT_EQ(bytes("c.npz", "5"), first);
}

TEST_F(AttendTest, EmptyRowsAreZeroAndCounted) {
  WriteArrays({3, 4}, {2, 4}, {2, 5});
  const Json summary =
      JsonOf(Attend({"--causal", "offset", "--offset", "-2", "--json"}));
  EXPECT_EQ(summary.Find("empty_rows")->AsInt(""), 2);
  EXPECT_EQ(summary.Find("out")->Find("nonfinite")->AsInt(""), 0);
  EXPECT_THAT(Attend({"--causal", "offset", "--offset", "-2"}).out,
              HasSubstr("2 of 3: no visible key"));
}

TEST_F(AttendTest, NothingAtAllIsLegal) {
  WriteArrays({2, 3, 0, 8}, {2, 3, 0, 8}, {2, 3, 0, 4});
  EXPECT_EQ(Output({"--causal", "top-left"}).shape(), Dims({2, 3, 0, 4}));
  WriteArrays({0, 3, 5, 8}, {0, 3, 5, 8}, {0, 3, 5, 4});
  EXPECT_EQ(Output({}).shape(), Dims({0, 3, 5, 4}));
  WriteArrays({3, 0}, {2, 0}, {2, 1});
  const Tensor mean = Output({});  // all scores are 0
  EXPECT_NEAR(mean.As<float>()[0], (v_.As<float>()[0] + v_.As<float>()[1]) / 2,
              1e-6);
}

// q, k and v are read as they are; out has q's type, the rest is f32.
TEST_F(AttendTest, SixteenBitArrays) {
  WriteArrays({20, 8}, {30, 8}, {30, 8});
  for (const DType type : {DType::kBF16, DType::kF16}) {
    const Tensor q = Converted(q_, type), k = Converted(k_, type),
                 v = Converted(v_, type);
    WriteSafeTensors(folder_ / "qkv.safetensors",
                     {{"q", q}, {"k", k}, {"v", v}});
    const std::vector<std::string> attend = {"attend",
                                             "--q",
                                             "qkv.safetensors:q",
                                             "--k",
                                             "qkv.safetensors:k",
                                             "--v",
                                             "qkv.safetensors:v",
                                             "--lse",
                                             "--weights"};
    const auto run = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = attend;
      all.insert(all.end(), more.begin(), more.end());
      const Finished finished = RunRegard(all, {.directory = folder_.path()});
      EXPECT_EQ(finished.status, 0) << finished.err;
      return finished;
    };
    EXPECT_EQ(run({"-o", "out.safetensors", "--quiet"}).err, "");
    const Tensor out = ReadArray(folder_ / "out.safetensors:out");
    EXPECT_EQ(out.dtype(), type);
    EXPECT_EQ(ReadArray(folder_ / "out.safetensors:lse").dtype(), DType::kF32);
    const Tensor weights = ReadArray(folder_ / "out.safetensors:weights");
    EXPECT_EQ(weights.dtype(), DType::kF32);
    const Tensor wide_q = Converted(q, DType::kF32),
                 wide_k = Converted(k, DType::kF32),
                 wide_v = Converted(v, DType::kF32);
    const std::vector<double> expected =
        Expected(wide_q.As<float>(), wide_k.As<float>(), wide_v.As<float>(), 20,
                 30, 8, 8, [](int64_t, int64_t, double s) { return s; });
    const Tensor wide = Converted(out, DType::kF64);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(wide.As<double>()[i], expected[i],
                  type == DType::kBF16 ? 0.01 : 0.001);
    }
    // In npz, bf16 becomes f32.
    const Finished npz = run({"-o", "out.npz"});
    const bool brain = type == DType::kBF16;
    EXPECT_EQ(npz.err.find("note: out was converted from bf16") != npz.err.npos,
              brain)
        << npz.err;
    EXPECT_EQ(ReadArray(folder_ / "out.npz:out").dtype(),
              brain ? DType::kF32 : DType::kF16);
    EXPECT_THAT(run({}).out, HasSubstr(std::string(Name(type)) + "   "));
  }
}

// One type beside another needs no word, unless one is f64.
TEST_F(AttendTest, TypesThatDiffer) {
  WriteArrays({3, 4}, {3, 4}, {3, 4});
  WriteNpy(folder_ / "k.npy", Converted(k_, DType::kF16));
  EXPECT_EQ(Attend({}).err, "");
  WriteNpy(folder_ / "v.npy", Converted(v_, DType::kF64));
  const Finished wide = Attend({});
  EXPECT_EQ(wide.status, 0);
  EXPECT_EQ(wide.err, "regard: note: q was converted from f32 to f64\n");
  EXPECT_EQ(Attend({"--quiet"}).err, "");
}

TEST_F(AttendTest, WrongOptionsExitWith2) {
  WriteArrays({3, 4}, {5, 4}, {5, 4});
  const auto refused = [&](std::vector<std::string> options,
                           const std::string& text) {
    ExpectError(Attend(options), 2, HasSubstr(text));
  };
  refused({"--causal", "offset"}, "--causal offset: the offset is missing");
  refused({"--causal", "top-left", "--offset", "1"},
          "--offset: contradicts --causal top-left");
  refused({"--offset", "1"}, "--offset: nothing uses it");
  refused({"--causal", "topleft"}, "did you mean top-left?");
  for (const char* window : {"0,0", "1", "1,-1", "a,b", "1,2,3", ",", "1,"}) {
    refused({"--window", window}, "--window: '");
  }
  refused({"--window", "2,0"}, "there are 3 queries and 5 keys");
  refused({"--softcap", "0"}, "--softcap: is not above 0");
  refused({"--scale", "nan"}, "--scale: 'nan' is not a finite number");
  refused({"-o", "x.npy", "--lse"}, "an npy file holds one array");
  refused({"-o", "x.txt"}, "unknown format .txt");
  ExpectError(RunRegard({"attend", "--k", "x.npy"}), 2,
              HasSubstr("--q: is missing"));
  EXPECT_THAT(folder_.Names(), ElementsAre("k.npy", "q.npy", "v.npy"));
}

TEST_F(AttendTest, WrongArraysExitWith1) {
  WriteArrays({3, 4}, {5, 4}, {6, 4});
  ExpectError(Attend({}), 1, HasSubstr("attend: v: shape [1, 1, 6, 4]"));
  WriteArrays({3, 3, 4}, {2, 5, 4}, {2, 5, 4});
  ExpectError(Attend({}), 1, AllOf(HasSubstr("Hq = 3"), HasSubstr("Hkv = 2")));
  WriteArrays({3, 4}, {1, 5, 4}, {5, 4});
  ExpectError(Attend({}), 1, HasSubstr("[3, 4], [1, 5, 4], [5, 4]"));
  WriteArrays({4}, {4}, {4});
  ExpectError(Attend({}), 1, HasSubstr("give all three as [L, D]"));
  WriteArrays({3, 4}, {3, 4}, {3, 4});
  WriteNpy(folder_ / "m.npy", Random({3, 3}, 4));
  ExpectError(Attend({"--mask", "m.npy"}), 1, HasSubstr("go into --bias"));
  const int64_t whole[4] = {1, 2, 3, 4};
  WriteNpy(folder_ / "q.npy", TensorView(whole, {1, 4}));
  ExpectError(Attend({}), 1, HasSubstr("q.npy: --q has the type i64"));
  WriteFile(folder_ / "q.npy", "not an array");
  ExpectError(Attend({}), 1, HasSubstr("q.npy: "));
}

TEST_F(AttendTest, NothingIsLeftWhenWritingFails) {
  WriteArrays({64, 64}, {64, 64}, {64, 64});
  const auto names = folder_.Names();
  ExpectError(Attend({"-o", "no/such/out.npz"}), 1,
              HasSubstr("no/such/out.npz: can't be written"));
  ExpectError(Attend({"-o", "/dev/full", "--format", "npy"}), 1,
              HasSubstr("/dev/full: can't be written: no space left"));
  for (const char* name : {"out.npz", "out.npy", "out.safetensors"}) {
    ExpectError(Attend({"-o", name}, {.file_size_limit = 4096}), 1,
                HasSubstr(std::string(name) + ": can't be written"));
  }
  ExpectError(Attend({"-o", "out.npz", "--weights", "--max-size", "10k"}), 1,
              AllOf(HasSubstr("it would take 32.8 kB"),
                    HasSubstr("the limit of 10.0 kB"),
                    HasSubstr("leave --weights out")));
  EXPECT_EQ(folder_.Names(), names);
}

#ifndef REGARD_ADDRESS_SANITIZER  // which reserves terabytes
TEST_F(AttendTest, TooLittleMemoryIsAnError) {
  WriteArrays({8000, 4}, {8000, 4}, {8000, 4});
  const auto names = folder_.Names();
  // 256 MB of weights where the whole program may have as much.
  ExpectError(Attend({"--weights", "--max-size", "1G", "-o", "out.npz"},
                     {.memory_limit = 256'000'000}),
              1,
              AllOf(HasSubstr("256000000 bytes"), HasSubstr("ask for less")));
  EXPECT_EQ(folder_.Names(), names);
}
#endif

TEST_F(AttendTest, JsonReceipt) {
  WriteArrays({3, 4}, {3, 4}, {3, 4});
  const Json receipt = JsonOf(Attend({"-o", "out.npy", "--json", "--quiet"}));
  EXPECT_EQ(receipt.Find("wrote")->AsString(""), "out.npy");
  EXPECT_EQ(receipt.Find("bytes")->AsInt(""),
            static_cast<int64_t>(ReadText(folder_ / "out.npy").size()));
}

TEST_F(AttendTest, DashIsStdout) {
  WriteArrays({3, 4}, {3, 4}, {3, 4});
  const Finished finished = Attend({"-o", "-", "--format", "npy"});
  EXPECT_EQ(finished.status, 0);
  ASSERT_EQ(Attend({"-o", "out.npy"}).status, 0);
  EXPECT_EQ(finished.out, ReadText(folder_ / "out.npy"));
}

TEST_F(AttendTest, ThePlanCanBePrinted) {
  WriteArrays({3, 4}, {3, 4}, {3, 4});
  EXPECT_THAT(Attend({"--plan"}).out, HasSubstr("chosen"));
  EXPECT_THAT(Attend({"--plan", "--kernel", "reference"}).out,
              HasSubstr("reference: chosen"));
  // Rows of 3 keys, of which the last one sees all.
  const std::vector<std::string> causal = {"--plan", "--kernel", "reference",
                                           "--causal", "top-left"};
  EXPECT_THAT(Attend(causal).out,
              HasSubstr("tiles of the mask: 0 empty, 1 full, 2 mixed"));
}

}  // namespace
}  // namespace regard::inline v0
