#include <dirent.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <thread>
#include <vector>

#include "nn/test_support.h"
#include "regard/nn.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;

Linear RandomLinear(int64_t in, int64_t out, bool bias, uint32_t seed) {
  Linear linear(in, out, bias);
  linear.weight.Assign(RandomTensor({out, in}, seed));
  if (bias) linear.bias.Assign(RandomTensor({out}, seed + 1));
  return linear;
}

// x W^T + b by plain loops in the type Sum.
template <typename Sum>
std::vector<Sum> Plain(const Linear& linear, const Tensor& x) {
  const int64_t in = linear.in_features(), out = linear.out_features();
  std::vector<Sum> y;
  for (int64_t row = 0; row < x.dim(0); ++row) {
    for (int64_t column = 0; column < out; ++column) {
      Sum sum = linear.bias.given() ? linear.bias.data()[column] : 0;
      for (int64_t i = 0; i < in; ++i) {
        sum += static_cast<Sum>(x.As<float>()[row * in + i]) *
               static_cast<Sum>(linear.weight.data()[column * in + i]);
      }
      y.push_back(sum);
    }
  }
  return y;
}

template <typename T>
double LargestError(const T* found, const std::vector<double>& exact) {
  double largest = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(found[i] - exact[i]));
  }
  return largest;
}

void CompareWithDouble(const Linear& linear, int64_t rows) {
  const Tensor x = RandomTensor({rows, linear.in_features()}, 3);
  const Tensor y = linear.Forward(x);
  ASSERT_EQ(y.shape(), (Dims{rows, linear.out_features()}));
  const std::vector<double> exact = Plain<double>(linear, x);
  double size = 0;
  for (const double value : exact) size = std::max(size, std::abs(value));
  const double plain = LargestError(Plain<float>(linear, x).data(), exact);
  EXPECT_LE(LargestError(y.As<float>(), exact),
            std::max(2 * plain, 4 * 1.2e-7 * size))
      << rows << " x " << linear.in_features() << " -> "
      << linear.out_features();
}

// Sizes around the pieces of 16 rows, 96 columns and sums of 128.
TEST(LinearTest, MatchesDoubleAroundThePieceSizes) {
  for (const int64_t in : {0, 1, 127, 128, 129, 300}) {
    for (const int64_t out : {0, 1, 95, 96, 97, 195}) {
      const Linear linear = RandomLinear(in, out, out % 2 == 1, 7);
      for (const int64_t rows : {0, 1, 15, 16, 17, 35}) {
        CompareWithDouble(linear, rows);
      }
    }
  }
}

double RootMeanSquare(const std::vector<double>& exact, const float* found) {
  double sum = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    sum += (found[i] - exact[i]) * (found[i] - exact[i]);
  }
  return std::sqrt(sum / static_cast<double>(exact.size()));
}

TEST(LinearTest, LongSumsAreTakenInPieces) {
  const Linear linear = RandomLinear(1536, 96, true, 7);
  const Tensor x = RandomTensor({16, 1536}, 3);
  const Tensor y = linear.Forward(x);
  const std::vector<double> exact = Plain<double>(linear, x);
  // Measured: 0.3 of the error of one chain of additions.
  EXPECT_LT(RootMeanSquare(exact, y.As<float>()),
            0.4 * RootMeanSquare(exact, Plain<float>(linear, x).data()));
}

TEST(LinearTest, RowsDependOnNothingElse) {
  const Linear linear = RandomLinear(389, 203, true, 11);
  const Tensor x = RandomTensor({131, 389}, 12);
  const Tensor all = linear.Forward(x, 1);
  for (const int threads : {2, 3, 5}) {
    EXPECT_TRUE(SameBits(all, linear.Forward(x, threads))) << threads;
  }
  for (const int64_t rows : {1, 2, 16, 17, 40, 130}) {
    const TensorView part = x.view().Slice(0, 131 - rows, 131);
    EXPECT_TRUE(
        SameBits(all.view().Slice(0, 131 - rows, 131), linear.Forward(part, 2)))
        << rows;
  }
  // NaN in a neighbour stays there.
  Tensor poisoned = x.Clone();
  std::fill_n(poisoned.AsMutable<float>() + 389, 389, NAN);
  const Tensor out = linear.Forward(poisoned);
  EXPECT_TRUE(std::isnan(out.As<float>()[203]));
  EXPECT_TRUE(
      SameBits(all.view().Slice(0, 2, 131), out.view().Slice(0, 2, 131)));
}

TEST(LinearTest, AnyRankAndStrides) {
  const Linear linear = RandomLinear(5, 4, true, 1);
  const Tensor x = RandomTensor({2, 3, 5}, 2);
  const Tensor y = linear.Forward(x);
  EXPECT_EQ(y.shape(), (Dims{2, 3, 4}));
  EXPECT_TRUE(SameBits(y.view().Reshaped({6, 4}),
                       linear.Forward(x.view().Reshaped({6, 5}))));
  EXPECT_TRUE(SameBits(y.view().Select(0, 1).Select(0, 2),
                       linear.Forward(x.view().Select(0, 1).Select(0, 2))));
  const Tensor turned = Tensor::CopyOf(x.view().Transposed(0, 2));
  EXPECT_TRUE(SameBits(y, linear.Forward(turned.view().Transposed(0, 2))));
}

TEST(LinearTest, BoundMemoryIsUsedInPlace) {
  // One float behind an aligned address, as in a mapped file.
  Tensor memory = RandomTensor({1 + 7 * 9}, 5);
  const TensorView weight = memory.view().Slice(0, 1, 64).Reshaped({7, 9});
  Linear linear(9, 7, /*bias=*/false);
  linear.weight.Bind(weight);
  EXPECT_EQ(linear.weight.data(), memory.As<float>() + 1);
  Linear copied(9, 7, /*bias=*/false);
  copied.weight.Assign(weight);
  const Tensor x = RandomTensor({3, 9}, 6);
  EXPECT_TRUE(SameBits(linear.Forward(x), copied.Forward(x)));
}

TEST(LinearTest, MistakesAreNamed) {
  const Linear linear = RandomLinear(5, 4, true, 1);
  EXPECT_EQ(MessageOf([&] {
              linear.Forward(RandomTensor({2, 6}, 1));
            }),
            "Linear: the input is [2, 6], but its last axis has to be "
            "in_features = 5");
  const Tensor doubles(DType::kF64, {2, 5});
  EXPECT_THAT(MessageOf([&] { linear.Forward(doubles); }),
              HasSubstr("the input is f64, not f32"));
  EXPECT_THAT(MessageOf([&] { linear.Forward(TensorView()); }),
              HasSubstr("no input given"));
  EXPECT_THAT(MessageOf([] {
                Linear(5, 4).Forward(RandomTensor({2, 5}, 1));
              }),
              HasSubstr("weight [4, 5] has no values yet"));
  EXPECT_THROW(Linear(-1, 4), Error);
  EXPECT_THROW(Linear(int64_t{1} << 40, int64_t{1} << 40), Error);
}

int ThreadsOfThisProcess() {
  DIR* directory = opendir("/proc/self/task");
  int count = -2;  // "." and ".."
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

TEST(LinearTest, StartsNoOpenMpTeamAndKeepsTheHostsSetting) {
  const auto get =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  const auto set = reinterpret_cast<void (*)(int)>(
      dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  ASSERT_NE(get, nullptr);
  ASSERT_NE(set, nullptr);
  const int before = get();
  set(3);
  const int threads = ThreadsOfThisProcess();
  const Linear linear = RandomLinear(512, 512, true, 1);
  const Tensor out = linear.Forward(RandomTensor({300, 512}, 2), 1);
  EXPECT_EQ(ThreadsOfThisProcess(), threads);
  EXPECT_EQ(get(), 3);
  set(before);
}

// The cap of REGARD_MAX_ISA holds for oneDNN too (this test runs once without
// and once with it).
TEST(LinearTest, OneDnnObeysTheInstructionSetCap) {
  RandomLinear(3, 3, true, 1).Forward(RandomTensor({3, 3}, 2));
  const std::string widest = SimdTargetName(UsableSimdTargets().front());
  const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  const auto has = [&](dnnl::cpu_isa wanted) {
    return (isa & static_cast<int>(wanted)) == static_cast<int>(wanted);
  };
  EXPECT_TRUE(has(dnnl::cpu_isa::sse41));
  const bool wide = widest.rfind("AVX3", 0) == 0;
  EXPECT_EQ(has(dnnl::cpu_isa::avx512_core), wide) << widest;
  EXPECT_EQ(has(dnnl::cpu_isa::avx2), wide || widest == "AVX2") << widest;
}

TEST(LinearTest, ForkedChildComputesTheSame) {
  const Linear linear = RandomLinear(200, 300, true, 1);
  const Tensor x = RandomTensor({100, 200}, 2);
  const Tensor expected = linear.Forward(x, 3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const bool same = SameBits(expected, linear.Forward(x, 3));
    const bool fresh = linear.Forward(x, 1).given() &&
                       RandomLinear(201, 300, true, 1)
                           .Forward(RandomTensor({9, 201}, 2), 2)
                           .given();
    _exit(same && fresh ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(LinearTest, SeveralHostThreads) {
  const Linear linear = RandomLinear(65, 130, true, 1);
  const Tensor x = RandomTensor({33, 65}, 2);
  const Tensor expected = linear.Forward(x, 1);
  std::vector<std::thread> hosts;
  std::vector<int> same(6, 1);
  for (size_t host = 0; host < same.size(); ++host) {
    hosts.emplace_back([&, host] {
      for (int round = 0; round < 20; ++round) {
        same[host] &= SameBits(expected, linear.Forward(x, 2));
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(same, std::vector<int>(6, 1));
}

}  // namespace
}  // namespace regard::inline v0
