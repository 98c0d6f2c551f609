#include "attention/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention/overlap.h"

namespace regard::inline v0 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A valid problem: B 2, Hq 4, Hkv 2, Lq 3, Lk 5, D 6, Dv 7.
class CheckTest : public testing::Test {
 protected:
  CheckTest() {
    problem_.q = q_;
    problem_.k = k_;
    problem_.v = v_;
  }

  // The message of the error that Check throws.
  std::string Message() {
    try {
      Check(problem_, "Attend");
    } catch (const Error& error) {
      kind_ = error.kind();
      return error.what();
    }
    return "no error";
  }

  Tensor q_{DType::kF32, {2, 4, 3, 6}};
  Tensor k_{DType::kF32, {2, 2, 5, 6}};
  Tensor v_{DType::kF32, {2, 2, 5, 7}};
  AttentionProblem problem_;
  ErrorKind kind_ = ErrorKind::kUsage;
};

TEST_F(CheckTest, SizesScaleAndGroup) {
  const Problem p = Check(problem_, "Attend");
  EXPECT_EQ(p.group(), 2);
  EXPECT_EQ(p.value_size, 7);
  EXPECT_DOUBLE_EQ(p.scale, 1 / std::sqrt(6.0));
  problem_.scale = 0;
  EXPECT_EQ(Check(problem_, "Attend").scale, 0);
}

TEST_F(CheckTest, ShapesAreNamed) {
  problem_.k = Tensor(DType::kF32, {2, 2, 5, 8});
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("Attend: k"), HasSubstr("[2, 2, 5, 8]"),
                    HasSubstr("[2, 2, 5, 6]")));
  problem_.k = k_;
  problem_.v = Tensor(DType::kF32, {2, 2, 4, 7});
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("Attend: v"), HasSubstr("[2, 2, 4, 7]")));
  problem_.v = v_;
  problem_.q = q_.view().Select(0, 0);
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: q"), HasSubstr("rank 3")));
}

TEST_F(CheckTest, StridesOfAnotherRank) {
  problem_.q.strides = Dims{6, 1};
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: q"), HasSubstr("[6, 1]")));
  problem_.q = q_;
  const float bias[15] = {};
  problem_.bias = TensorView(bias, {3, 5});
  problem_.bias.strides = Dims();
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: bias"), HasSubstr("[3, 5]")));
}

// fla-org#1029: both numbers in the message.
TEST_F(CheckTest, HeadsThatDoNotDivide) {
  for (const int64_t heads : {3, 33}) {
    const Tensor q(DType::kF32, {2, heads, 3, 6});
    problem_.q = q;
    EXPECT_THAT(Message(), AllOf(HasSubstr("Hq = " + std::to_string(heads)),
                                 HasSubstr("Hkv = 2")));
  }
  const Tensor k(DType::kF32, {2, 0, 5, 6}), v(DType::kF32, {2, 0, 5, 7});
  problem_.k = k;
  problem_.v = v;
  EXPECT_THAT(Message(), HasSubstr("Hkv = 0"));
}

TEST_F(CheckTest, Types) {
  const Tensor whole(DType::kI32, {2, 2, 5, 6});
  problem_.k = whole;
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: k"), HasSubstr("type i32"),
                               HasSubstr("f64, f32, bf16 or f16")));
  EXPECT_EQ(kind_, ErrorKind::kUnsupported);
}

// Each of q, k and v has a type of its own; f64 beside a narrower q is refused.
TEST_F(CheckTest, EveryPairOfFloatingTypes) {
  constexpr DType kTypes[] = {DType::kF64, DType::kF32, DType::kBF16,
                              DType::kF16};
  for (const DType q_type : kTypes) {
    for (const DType type : kTypes) {
      const Tensor q(q_type, {2, 4, 3, 6}), k(type, {2, 2, 5, 6}),
          v(type, {2, 2, 5, 7}), narrow(DType::kBF16, {2, 2, 5, 6});
      problem_.q = q;
      problem_.v = v;
      for (const Tensor* keys : {&k, &narrow}) {
        problem_.k = *keys;
        if (type != DType::kF64 || q_type == DType::kF64) {
          EXPECT_EQ(Check(problem_, "Attend").dtype,
                    q_type == DType::kF64 ? DType::kF64 : DType::kF32);
          continue;
        }
        EXPECT_THAT(
            Message(),
            AllOf(HasSubstr(keys == &k ? "Attend: k" : "Attend: v"),
                  HasSubstr(std::string("f64 beside q of ") + Name(q_type)),
                  HasSubstr("convert q to f64")));
        EXPECT_EQ(kind_, ErrorKind::kUnsupported);
      }
    }
  }
}

TEST_F(CheckTest, ScaleAndSoftcap) {
  problem_.scale = kNaN;
  EXPECT_THAT(Message(), HasSubstr("Attend: scale"));
  problem_.scale.reset();
  for (const double cap : {0.0, -1.0, kNaN, HUGE_VAL}) {
    problem_.softcap = cap;
    EXPECT_THAT(Message(), HasSubstr("Attend: softcap"));
  }
}

TEST_F(CheckTest, Masks) {
  const float numbers[15] = {};
  const uint8_t bytes[15] = {};
  problem_.mask = Mask::Boolean(TensorView(numbers, {3, 5}));
  EXPECT_THAT(Message(), AllOf(HasSubstr("f32"), HasSubstr("bool or u8")));
  problem_.mask = Mask::Boolean(TensorView(bytes, {5, 3}));
  EXPECT_THAT(Message(), AllOf(HasSubstr("[5, 3]"), HasSubstr("[2, 4, 3, 5]")));
  problem_.mask = Mask::Boolean(TensorView(bytes, {1, 1, 1, 1, 1}));
  EXPECT_THAT(Message(), HasSubstr("broadcast"));
  problem_.mask = Mask::Lengths({3}, {});
  EXPECT_THAT(Message(), AllOf(HasSubstr("1 query"), HasSubstr("B = 2")));
  problem_.mask = Mask::Lengths({}, {5, 6});
  EXPECT_THAT(Message(), AllOf(HasSubstr("6"), HasSubstr("entry 1")));
  problem_.mask = Mask::Lengths({-1, 0}, {});
  EXPECT_THAT(Message(), HasSubstr("-1"));
  problem_.mask = Mask::Window(0, std::nullopt);
  EXPECT_THAT(Message(), HasSubstr("counts the query itself"));
  problem_.mask = Mask::Prefix(-1);
  EXPECT_THAT(Message(), HasSubstr("a prefix of -1 keys"));
  problem_.mask = Mask::Chunk(0);
  EXPECT_THAT(Message(), HasSubstr("chunks of size 0"));
  problem_.mask = Mask::Window(1, 0, -1);
  EXPECT_THAT(Message(), HasSubstr("first_keys = -1"));
  const int32_t ids[10] = {};
  problem_.mask = Mask::Documents(TensorView(ids, {3}), TensorView(ids, {4}));
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("key ids of shape [4]"), HasSubstr("length 5")));
  problem_.mask =
      Mask::Documents(TensorView(ids, {3, 3}), TensorView(ids, {2, 5}));
  EXPECT_THAT(Message(), AllOf(HasSubstr("[3, 3]"), HasSubstr("B = 2")));
  problem_.mask = Mask::Documents(TensorView(bytes, {3}), TensorView(ids, {5}));
  EXPECT_THAT(Message(), AllOf(HasSubstr("u8"), HasSubstr("i32 or i64")));
  problem_.mask = Mask::BlockSparse(TensorView(bytes, {2, 3}), 2, 0);
  EXPECT_THAT(Message(), HasSubstr("2 queries x 0 keys"));
  problem_.mask = Mask::BlockSparse(TensorView(bytes, {2, 3}), 2, 3);
  EXPECT_THAT(Message(), AllOf(HasSubstr("[2, 3]"), HasSubstr("[2, 2]")));
  problem_.mask = Mask::BlockSparse(TensorView(bytes, {3, 2, 2}), 2, 3);
  EXPECT_THAT(Message(), HasSubstr("[2, 4, 2, 2]"));
  problem_.mask = Mask::BlockSparse(TensorView(numbers, {2, 2}), 2, 3);
  EXPECT_THAT(Message(), HasSubstr("f32"));
  problem_.mask = Mask::Bits(TensorView(bytes, {3, 2}));
  EXPECT_THAT(Message(), AllOf(HasSubstr("[3, 2]"), HasSubstr("1 bytes")));
  problem_.mask = Mask::Bits(TensorView(numbers, {3, 1}));
  EXPECT_THAT(Message(), HasSubstr("bits in type f32"));
  problem_.mask = Mask::Custom(nullptr);
  EXPECT_THAT(Message(), HasSubstr("without function"));
  for (const Mask& mask : {Mask::Causal(), Mask::Prefix(2), Mask::Chunk(2),
                           Mask::Window(2, std::nullopt)}) {
    problem_.query_offset.reset();
    problem_.mask = mask;
    EXPECT_THAT(Message(), HasSubstr("Lq = 3, Lk = 5"));
  }
  problem_.query_offset = QueryOffset::TopLeft();
  EXPECT_EQ(Message(), "no error");
  problem_.query_offset = QueryOffset::At(kMaxOffset + 1);
  EXPECT_THAT(Message(), HasSubstr("Attend: query_offset"));
}

TEST_F(CheckTest, Bias) {
  const uint8_t bytes[15] = {};
  problem_.bias = TensorView(bytes, {3, 5});
  EXPECT_THAT(Message(), AllOf(HasSubstr("bias"), HasSubstr("u8")));
  const float numbers[10] = {};
  problem_.bias = TensorView(numbers, {2, 5});
  EXPECT_THAT(Message(), HasSubstr("[2, 5]"));
}

TEST_F(CheckTest, AlibiAndSink) {
  const float numbers[4] = {};
  const uint8_t bytes[4] = {};
  const std::pair<TensorView*, const char*> lists[] = {
      {&problem_.alibi_slopes, "alibi_slopes"},
      {&problem_.sink_logit, "sink_logit"}};
  problem_.query_offset = QueryOffset::BottomRight();
  for (const auto& [list, name] : lists) {
    *list = TensorView(numbers, {3});
    EXPECT_THAT(Message(), AllOf(HasSubstr(name), HasSubstr("[3]"),
                                 HasSubstr("[Hq] = [4]")));
    *list = TensorView(bytes, {4});
    EXPECT_THAT(Message(), AllOf(HasSubstr(name), HasSubstr("u8")));
    *list = TensorView(numbers, {4});
    EXPECT_EQ(Message(), "no error");
  }
  problem_.query_offset.reset();
  EXPECT_THAT(Message(), HasSubstr("Lq = 3, Lk = 5"));
  const double slopes[4] = {1, 2, kNaN, 3};
  problem_.query_offset = QueryOffset::BottomRight();
  problem_.alibi_slopes = TensorView(slopes, {4});
  EXPECT_THAT(Message(), AllOf(HasSubstr("alibi_slopes"), HasSubstr("head 2")));
}

TEST_F(CheckTest, AddressesThatDoNotFit) {
  const float one = 1;
  problem_.q =
      TensorView(&one, DType::kF32, {2, 4, 3, 6}, {int64_t{1} << 62, 1, 1, 1});
  EXPECT_THAT(Message(), HasSubstr("Attend: q"));
  EXPECT_EQ(kind_, ErrorKind::kSize);
  problem_.q = TensorView(nullptr, DType::kF32, {2, 4, 3, 6});
  EXPECT_THAT(Message(), HasSubstr("no memory"));
}

class OutputsTest : public CheckTest {
 protected:
  std::string Message(const AttentionOutputs& outputs) {
    try {
      CheckOutputs(problem_, Check(problem_, "Run"), outputs, "Run");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  Tensor out_{DType::kF32, {2, 4, 3, 7}};
};

TEST_F(OutputsTest, ShapesAndTypes) {
  AttentionOutputs outputs;
  EXPECT_THAT(Message(outputs), HasSubstr("Run: out"));
  outputs.out = out_.mutable_view();
  EXPECT_EQ(Message(outputs), "no error");
  Tensor lse(DType::kF64, {2, 4, 3});
  outputs.lse = lse.mutable_view();
  EXPECT_THAT(Message(outputs), AllOf(HasSubstr("lse"), HasSubstr("f64")));
}

TEST_F(OutputsTest, OutIsOfAnyFloatingType) {
  for (const DType type : {DType::kF64, DType::kBF16, DType::kF16}) {
    Tensor out(type, {2, 4, 3, 7});
    EXPECT_EQ(Message({out.mutable_view(), {}, {}}), "no error");
  }
  Tensor whole(DType::kI16, {2, 4, 3, 7});
  EXPECT_THAT(Message({whole.mutable_view(), {}, {}}),
              AllOf(HasSubstr("out"), HasSubstr("i16")));
  const Tensor narrow(DType::kBF16, {2, 4, 3, 6});
  problem_.q = narrow;
  Tensor lse(DType::kBF16, {2, 4, 3});
  EXPECT_THAT(Message({out_.mutable_view(), lse.mutable_view(), {}}),
              AllOf(HasSubstr("lse"), HasSubstr("use f32")));
}

TEST_F(OutputsTest, SharedMemoryIsRefused) {
  AttentionOutputs outputs;
  outputs.out = out_.mutable_view();
  problem_.bias =
      out_.view().Select(3, 0).Select(2, 0).Unsqueezed(2).Unsqueezed(3);
  EXPECT_THAT(Message(outputs), AllOf(HasSubstr("out"), HasSubstr("bias")));
  problem_.bias = {};
  problem_.mask =
      Mask::Boolean(TensorView(out_.view().data, DType::kU8, {3, 5}));
  EXPECT_THAT(Message(outputs), HasSubstr("mask"));
  const int64_t ids[5] = {};
  const void* memory = out_.view().data;
  for (const Mask& mask :
       {Mask::Documents(TensorView(ids, {3}),
                        TensorView(memory, DType::kI64, {5})),
        Mask::Documents(TensorView(memory, DType::kI64, {3}),
                        TensorView(ids, {5})),
        Mask::BlockSparse(TensorView(memory, DType::kU8, {3, 5}), 1, 1),
        Mask::Bits(TensorView(memory, DType::kU8, {3, 1}))}) {
    problem_.mask = mask;
    EXPECT_THAT(Message(outputs), HasSubstr("shares memory with mask"));
  }
  problem_.mask = {};
  outputs.lse = MutableTensorView(out_.AsMutable<float>() + 1, {2, 4, 3});
  EXPECT_THAT(Message(outputs), AllOf(HasSubstr("lse"), HasSubstr("out")));
  outputs.lse = {};
  problem_.query_offset = QueryOffset::TopLeft();
  problem_.alibi_slopes = TensorView(out_.view().data, DType::kF32, {4});
  EXPECT_THAT(Message(outputs), HasSubstr("alibi_slopes"));
  problem_.alibi_slopes = {};
  problem_.sink_logit = TensorView(out_.view().data, DType::kF32, {4});
  EXPECT_THAT(Message(outputs), HasSubstr("sink_logit"));
  problem_.sink_logit = {};
  outputs.out.strides[2] = 0;
  EXPECT_THAT(Message(outputs), HasSubstr("itself"));
}

TEST(OverlapTest, InterleavedHalvesAreApart) {
  std::vector<float> buffer(2 * 3 * 8);
  const TensorView left(buffer.data(), DType::kF32, {2, 3, 4}, {24, 8, 1});
  const TensorView right(buffer.data() + 4, DType::kF32, {2, 3, 4}, {24, 8, 1});
  const TensorView shifted(buffer.data() + 3, DType::kF32, {2, 3, 4},
                           {24, 8, 1});
  const TensorView back(buffer.data() + 28, DType::kF32, {2, 3, 4},
                        {-24, 8, 1});
  EXPECT_FALSE(MayOverlap(left, right));
  EXPECT_FALSE(MayOverlap(left, back));
  EXPECT_TRUE(MayOverlap(left, shifted));
  EXPECT_TRUE(MayOverlap(right, shifted));
  EXPECT_TRUE(MayOverlap(right, back));
  const TensorView even(buffer.data(), DType::kF32, {10}, {2});
  const TensorView odd(buffer.data() + 1, DType::kF32, {10}, {2});
  EXPECT_FALSE(MayOverlap(even, odd));
  EXPECT_TRUE(MayOverlap(even, TensorView(buffer.data() + 2, {1})));
  EXPECT_FALSE(MayOverlap(even, TensorView(buffer.data() + 3, {1})));
}

TEST(OverlapTest, Itself) {
  const float one = 1;
  const auto self = [&](const Dims& shape, const Dims& strides) {
    return MayOverlapItself(TensorView(&one, DType::kF32, shape, strides));
  };
  EXPECT_FALSE(self({2, 3}, {3, 1}));
  EXPECT_FALSE(self({2, 3}, {1, 2}));
  EXPECT_FALSE(self({2, 3}, {-3, 1}));
  EXPECT_FALSE(self({1, 3}, {0, 1}));
  EXPECT_TRUE(self({2, 3}, {0, 1}));
  EXPECT_TRUE(self({2, 3}, {2, 1}));
}

}  // namespace
}  // namespace regard::inline v0
