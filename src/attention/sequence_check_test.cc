#include "attention/sequence_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "attention/check.h"

namespace regard::inline v0 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LateKeys : public MaskFunction {
 public:
  bool Allows(const MaskFrame&, int64_t, int64_t key) const noexcept override {
    return key > 6;
  }
};

// Three sequences of 2, 0 and 3 queries, and of 4, 1 and 2 keys.
class SequenceCheckTest : public testing::Test {
 protected:
  SequenceCheckTest() {
    problem_.q = q_;
    problem_.k = problem_.v = k_;
    problem_.query_starts = TensorView(query_starts_, {4});
    problem_.key_starts = TensorView(key_starts_, {4});
  }

  // Keys in 4 pages of 2.
  void UsePages() {
    problem_.key_starts = {};
    problem_.k = problem_.v = pages_;
    problem_.key_lengths = TensorView(key_lengths_, {3});
    problem_.block_table = TensorView(table_, {3, 2});
  }
  void UseCapacity() {
    problem_.key_starts = {};
    problem_.k = problem_.v = capacity_;
    problem_.key_lengths = TensorView(key_lengths_, {3});
  }

  std::string Message() {
    try {
      Check(problem_, "Attend");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  int64_t query_starts_[4] = {0, 2, 2, 5}, key_starts_[4] = {0, 4, 5, 7};
  int32_t key_lengths_[3] = {4, 1, 2}, table_[6] = {3, 0, 1, -9, 2, 99};
  Tensor q_{DType::kF32, {1, 4, 5, 6}}, k_{DType::kF32, {1, 2, 7, 6}};
  Tensor pages_{DType::kF32, {4, 2, 2, 6}},
      capacity_{DType::kF32, {3, 2, 5, 6}};
  AttentionProblem problem_;
};

TEST_F(SequenceCheckTest, LengthsOfSequences) {
  for (int form = 0; form < 3; ++form) {
    if (form == 1) UseCapacity();
    if (form == 2) UsePages();
    const Problem p = Check(problem_, "Attend");
    EXPECT_EQ(p.sequences, 3);
    EXPECT_EQ(p.query_length, 3);
    EXPECT_EQ(p.key_length, 4);
    EXPECT_EQ(p.SequenceOf(2).first_query, 2);
    EXPECT_EQ(p.SequenceOf(2).query_length, 3);
    EXPECT_EQ(p.SequenceOf(2).key_length, 2);
  }
}

TEST_F(SequenceCheckTest, Starts) {
  query_starts_[0] = 1;
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: query_starts"),
                               HasSubstr("begins with 1")));
  query_starts_[0] = 0;
  query_starts_[1] = 3;
  EXPECT_THAT(Message(), AllOf(HasSubstr("2 of entry 2 comes after 3"),
                               HasSubstr("in order")));
  query_starts_[1] = 2;
  query_starts_[3] = 6;
  EXPECT_THAT(Message(), AllOf(HasSubstr("ends with 6"), HasSubstr("5 long")));
  query_starts_[3] = 5;
  key_starts_[1] = -1;
  EXPECT_THAT(Message(), HasSubstr("Attend: key_starts"));
  key_starts_[1] = 4;
  problem_.key_starts = TensorView(key_starts_, {3});
  EXPECT_THAT(Message(), AllOf(HasSubstr("[3]"), HasSubstr("[4]")));
  problem_.key_starts = TensorView(key_starts_, {2, 2});
  EXPECT_THAT(Message(), HasSubstr("[S + 1]"));
  problem_.key_starts = TensorView(q_.view().data, DType::kF32, {4});
  EXPECT_THAT(Message(), AllOf(HasSubstr("f32"), HasSubstr("i32 or i64")));
  problem_.key_starts = TensorView(key_starts_, {4});
  problem_.query_starts = TensorView(query_starts_, {0});
  EXPECT_THAT(Message(), HasSubstr("query_starts"));
  problem_.query_starts = TensorView(query_starts_, {4});
  const Tensor batch(DType::kF32, {3, 4, 5, 6});
  problem_.q = batch;
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: q"), HasSubstr("[1, Hq")));
}

TEST_F(SequenceCheckTest, Lengths) {
  UseCapacity();
  key_lengths_[1] = 6;
  EXPECT_THAT(Message(), AllOf(HasSubstr("key_lengths: 6 of sequence 1"),
                               HasSubstr("0 and the 5 keys")));
  key_lengths_[1] = -1;
  EXPECT_THAT(Message(), HasSubstr("-1 of sequence 1"));
  key_lengths_[1] = 1;
  problem_.key_lengths = TensorView(key_lengths_, {2});
  EXPECT_THAT(Message(), AllOf(HasSubstr("[2]"), HasSubstr("[S] = [3]")));
  // Less than the part of a packed axis.
  problem_.k = problem_.v = k_;
  problem_.key_starts = TensorView(key_starts_, {4});
  problem_.key_lengths = TensorView(key_lengths_, {3});
  EXPECT_EQ(Message(), "no error");
  key_lengths_[2] = 3;
  EXPECT_THAT(Message(), HasSubstr("3 of sequence 2"));
}

// flash-attention#2709: a table of one block of 4 and a length of 5.
TEST_F(SequenceCheckTest, MoreKeysThanTheTableHasPagesFor) {
  const Tensor q(DType::kF32, {1, 2, 1, 6}), pages(DType::kF32, {3, 2, 4, 6});
  const int32_t length = 5, table = 1;
  problem_ = {};
  problem_.q = q;
  problem_.k = problem_.v = pages;
  problem_.key_lengths = TensorView(&length, {1});
  problem_.block_table = TensorView(&table, {1, 1});
  EXPECT_THAT(Message(), AllOf(HasSubstr("key_lengths: 5 of sequence 0"),
                               HasSubstr("the 4 keys")));
}

TEST_F(SequenceCheckTest, Pages) {
  UsePages();
  EXPECT_EQ(Message(), "no error");  // entries behind a length are not read
  table_[1] = 4;
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("page 4 at [0, 1]"), HasSubstr("the 4 pages")));
  table_[1] = -1;
  EXPECT_THAT(Message(), HasSubstr("page -1 at [0, 1]"));
  table_[1] = 0;
  problem_.block_table = TensorView(table_, {2, 3});
  EXPECT_THAT(Message(), AllOf(HasSubstr("block_table"), HasSubstr("[2, 3]")));
  problem_.block_table = TensorView(table_, {6});
  EXPECT_THAT(Message(), HasSubstr("[S, n]"));
  problem_.block_table = TensorView(table_, {3, 2});
  problem_.key_lengths = {};
  EXPECT_THAT(Message(), HasSubstr("Attend: key_lengths: not given"));
  problem_.key_lengths = TensorView(key_lengths_, {3});
  problem_.key_starts = TensorView(key_starts_, {4});
  EXPECT_THAT(Message(), HasSubstr("beside a block table"));
}

TEST_F(SequenceCheckTest, Rings) {
  UseCapacity();
  key_lengths_[0] = 9;
  problem_.ring = KeyRing{1, 4};
  problem_.query_offset = QueryOffset::BottomRight();
  problem_.mask = Mask::Window(3, 0, 1);
  EXPECT_EQ(Message(), "no error");
  const Sequence s = Check(problem_, "Attend").SequenceOf(0);
  EXPECT_EQ(s.evicted, (IndexRange{1, 5}));
  // The first of two queries stands at 7 and sees 4.
  problem_.mask = Mask::Window(4, 0, 1);
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: mask: may show key 4"),
                               HasSubstr("first 1 and the last 4")));
  problem_.mask = Mask::Window(3, 0, 2);
  EXPECT_THAT(Message(), HasSubstr("may show key 1"));
  problem_.mask = {};
  EXPECT_THAT(Message(), HasSubstr("Attend: mask"));
  // A mask of one's own that doesn't say what it never shows.
  problem_.mask = Mask::Custom(std::make_shared<LateKeys>());
  EXPECT_THAT(Message(),
              AllOf(HasSubstr("Attend: mask: may show key 1"),
                    HasSubstr("Range of a mask of your own has to leave")));
  problem_.mask = problem_.mask & Mask::Window(3, 0, 1);
  EXPECT_EQ(Message(), "no error");
  for (const KeyRing& ring : {KeyRing{-1, 4}, KeyRing{1, 0}, KeyRing{2, 4},
                              KeyRing{int64_t{1} << 62, int64_t{1} << 62}}) {
    problem_.ring = ring;
    EXPECT_THAT(Message(), HasSubstr("Attend: ring"));
  }
  problem_.ring = KeyRing{1, 4};
  problem_.key_lengths = {};
  EXPECT_THAT(Message(), HasSubstr("Attend: key_lengths: not given"));
}

TEST_F(SequenceCheckTest, ARingBehindATable) {
  UsePages();
  key_lengths_[0] = 9;
  problem_.ring = KeyRing{1, 3};
  problem_.query_offset = QueryOffset::BottomRight();
  problem_.mask = Mask::Window(2, 0, 1);
  EXPECT_EQ(Message(), "no error");
  table_[1] = 4;  // its second page holds slots 2 and 3
  EXPECT_THAT(Message(), HasSubstr("page 4 at [0, 1]"));
}

// What is said of B, Lq and Lk holds for sequences, and those of the longest.
TEST_F(SequenceCheckTest, MasksOfSequences) {
  const uint8_t bytes[36] = {};
  problem_.query_offset = QueryOffset::TopLeft();
  problem_.mask = Mask::Boolean(TensorView(bytes, {3, 1, 3, 4}));
  EXPECT_EQ(Message(), "no error");
  problem_.mask = Mask::Boolean(TensorView(bytes, {1, 1, 5, 7}));
  EXPECT_THAT(Message(), HasSubstr("[3, 4, 3, 4]"));
  problem_.mask = Mask::Lengths({2, 0, 3}, {4, 1, 2});
  EXPECT_EQ(Message(), "no error");
  problem_.mask = Mask::Lengths({2, 1, 3}, {});
  EXPECT_THAT(Message(), AllOf(HasSubstr("query length 1 of batch entry 1"),
                               HasSubstr("0 and 0")));
  problem_.mask = Mask::Causal();
  problem_.query_offset.reset();
  EXPECT_THAT(Message(), HasSubstr("Lq = 2, Lk = 4 of sequence 0"));
}

TEST_F(SequenceCheckTest, Scales) {
  const Tensor bytes(DType::kI8, {1, 2, 7, 6});
  const Tensor scales(DType::kF32, {1, 2, 7}), wide(DType::kF64, {1, 2, 7});
  problem_.k = bytes;
  EXPECT_THAT(Message(), HasSubstr("k_scales: not given, but k is i8"));
  problem_.k_scales = scales;
  EXPECT_EQ(Message(), "no error");
  problem_.k_scales = wide;
  EXPECT_THAT(Message(), AllOf(HasSubstr("k_scales"), HasSubstr("f64")));
  problem_.k_scales = scales.view().Slice(2, 0, 6);
  EXPECT_THAT(Message(), AllOf(HasSubstr("[1, 2, 6]"), HasSubstr("[1, 2, 7]")));
  problem_.k_scales = scales;
  problem_.v_scales = scales;
  EXPECT_THAT(Message(), HasSubstr("v_scales: given, but v is f32"));
  problem_.v_scales = {};
  problem_.q = TensorView(bytes.view().data, DType::kI8, {1, 4, 5, 6});
  EXPECT_THAT(Message(), AllOf(HasSubstr("Attend: q"), HasSubstr("i8")));
}

TEST_F(SequenceCheckTest, OutputsAreNotTheLists) {
  Tensor out(DType::kF32, {1, 4, 5, 6});
  AttentionOutputs outputs;
  outputs.out = out.mutable_view();
  problem_.query_starts = TensorView(out.view().data, DType::kI64, {4});
  const Problem p = [&] {
    AttentionProblem good = problem_;
    good.query_starts = TensorView(query_starts_, {4});
    return Check(good, "Run");
  }();
  try {
    CheckOutputs(problem_, p, outputs, "Run");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("shares memory with query_starts"));
  }
}

}  // namespace
}  // namespace regard::inline v0
