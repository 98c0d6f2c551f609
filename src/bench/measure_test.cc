// That figures are there and can be true; no test depends on how long something
// takes.
#include "bench/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bench/fma_peak.h"
#include "bench/resident.h"
#include "bench/stream_read.h"
#include "regard/attention.h"
#include "tests/support/kernels.h"

namespace regard::inline v0 {
namespace {

using ::testing::Contains;

TEST(FmaPeak, CountsOperationsOfEveryInstructionSet) {
  double wider = 1e9;
  for (const SimdTarget target : UsableSimdTargets()) {
    const double f32 = RunFmaChains(DType::kF32, target, 10, 1);
    EXPECT_GE(f32, 12 * 2 * 10) << SimdTargetName(target);
    EXPECT_LE(f32, wider) << SimdTargetName(target);
    wider = f32;
    EXPECT_EQ(RunFmaChains(DType::kF32, target, 20, 3), 6 * f32);
    // Half the lanes, where there are vectors.
    const double f64 = RunFmaChains(DType::kF64, target, 10, 1);
    EXPECT_TRUE(f64 == f32 / 2 || f64 == f32) << SimdTargetName(target);
  }
}

// Where there are no vectors, one kernel does it all.
std::string KernelOf(const std::string& with_vectors) {
  return HasVectors(UsableInstructionSets().front()) ? with_vectors
                                                     : "reference";
}

TEST(RowMeasurement, HasEveryFigure) {
  RowMeasurement measurement({.work = "mask",
                              .d = 16,
                              .lq = 40,
                              .lk = 40,
                              .bar = 1e9,
                              .versus = Versus{.work = "forward"}},
                             {.least_seconds = 0});
  for (int i = 0; i < 3; ++i) EXPECT_GT(measurement.Run().wall, 0);
  const BenchResult result = measurement.Result();
  EXPECT_EQ(result.runs, 3);
  EXPECT_EQ(result.of, Peak::kFma);
  EXPECT_EQ(result.kernel, KernelOf("flash"));
  EXPECT_THAT(UsableInstructionSets(), Contains(result.row.instruction_set));
  EXPECT_GT(result.wall_share, 0);
  EXPECT_GT(result.cpu_share, 0);
  EXPECT_FALSE(result.by_wall_time);
  EXPECT_EQ(result.share, result.cpu_share);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.peak_rate, 0);
  ASSERT_TRUE(result.ratio);
  EXPECT_GT(*result.ratio, 0);
  EXPECT_EQ(result.Met(), true);
}

TEST(RowMeasurement, SeveralThreadsGoByWallTime) {
  const Versus one = {.figure = Figure::kSpeed, .threads = 1};
  for (const auto& versus : {std::optional<Versus>(), std::optional(one)}) {
    RowMeasurement measurement(
        {.d = 16, .lq = 40, .lk = 40, .threads = 2, .versus = versus},
        {.least_seconds = 0});
    measurement.Run();
    const BenchResult result = measurement.Result();
    EXPECT_TRUE(result.by_wall_time);
    EXPECT_EQ(result.share, result.wall_share);
  }
}

TEST(RowMeasurement, DecodingIsHeldAgainstReading) {
  RowMeasurement measurement(
      {.work = "decode", .d = 64, .lq = 1, .lk = 4096, .hq = 4, .hkv = 2},
      {.least_seconds = 0});
  measurement.Run();
  const BenchResult result = measurement.Result();
  EXPECT_EQ(result.of, Peak::kRead);
  EXPECT_EQ(result.kernel, KernelOf("decode"));
  EXPECT_GT(result.share, 0);
  EXPECT_FALSE(result.ratio);
  EXPECT_FALSE(result.Met());
}

TEST(RowMeasurement, InstructionSetThatIsAskedFor) {
  for (const std::string& set : UsableInstructionSets()) {
    // A level for bf16 is used with bf16 alone.
    const DType dtype = set.ends_with("_BF16") ? DType::kBF16 : DType::kF32;
    RowMeasurement measurement(
        {.dtype = dtype, .d = 8, .lq = 64, .lk = 64, .instruction_set = set},
        {.least_seconds = 0});
    measurement.Run();
    EXPECT_EQ(measurement.Result().row.instruction_set, set);
  }
}

TEST(Resident, GrowthIsWhatIsTouched) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const std::optional<int64_t> growth = ResidentGrowth([] {
    Tensor tensor(DType::kU8, {kBytes});
    auto* bytes =
        static_cast<volatile uint8_t*>(tensor.mutable_view().mutable_data());
    for (int64_t i = 0; i < kBytes; i += 4096) bytes[i] = 1;
  });
  if (!growth) GTEST_SKIP() << "this system does not tell";
  EXPECT_GT(*growth, kBytes * 9 / 10);
  EXPECT_LT(*growth, kBytes * 2);
  // What is gone again no longer counts.
  EXPECT_LT(ResidentGrowth([] {}).value(), kBytes / 10);
}

TEST(RowMeasurement, MemoryIsComparedWithAShorterLength) {
  const BenchRow row = {
      .work = "memory",
      .d = 16,
      .lq = 2048,
      .lk = 2048,
      .hq = 1,
      .hkv = 1,
      .versus = Versus{.figure = Figure::kMemory, .lq = 512, .lk = 512}};
  RowMeasurement measurement(row, {.least_seconds = 0});
  measurement.Run();
  const BenchResult result = measurement.Result();
  if (!result.memory) GTEST_SKIP() << "this system does not tell";
  EXPECT_TRUE(result.ratio);
  EXPECT_GE(*result.memory, 0);
  // A tenth of the weights.
  EXPECT_LT(*result.memory, 2048 * 2048 * 4 / 10);
}

}  // namespace
}  // namespace regard::inline v0
