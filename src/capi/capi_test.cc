// What only C++ can see of the C interface: every kind of error and exception,
// and memory that runs out at any moment. What C sees is in tests/abi.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "capi/boundary.h"
#include "regard/mask.h"
#include "tests/support/allocations.h"

namespace regard::inline v0 {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(BoundaryTest, EveryKindHasItsStatus) {
  const struct {
    ErrorKind kind;
    regard_status status;
  } pairs[] = {
      {ErrorKind::kUsage, REGARD_ERROR_USAGE},
      {ErrorKind::kArgument, REGARD_ERROR_ARGUMENT},
      {ErrorKind::kFile, REGARD_ERROR_FILE},
      {ErrorKind::kFormat, REGARD_ERROR_FORMAT},
      {ErrorKind::kUnsupported, REGARD_ERROR_UNSUPPORTED},
      {ErrorKind::kSize, REGARD_ERROR_SIZE},
      {ErrorKind::kMemory, REGARD_ERROR_MEMORY},
  };
  for (const auto& pair : pairs) {
    EXPECT_EQ(Guard("regard_x", [&] { throw Error(pair.kind, "q", "is bad"); }),
              pair.status);
  }
}

TEST(BoundaryTest, MessagesNameTheFunctionOfC) {
  Guard("regard_x", [] {
    throw Error(ErrorKind::kArgument, "AttentionPlan::Run: q", "is bad",
                "make it good");
  });
  EXPECT_STREQ(regard_last_message(), "regard_x: q: is bad: make it good");
  Guard("regard_y", [] { throw Error(ErrorKind::kSize, "out", "is large"); });
  EXPECT_STREQ(regard_last_message(), "regard_y: out: is large");
}

TEST(BoundaryTest, NoExceptionGetsOut) {
  EXPECT_EQ(Guard("regard_x", [] { throw std::bad_alloc(); }),
            REGARD_ERROR_MEMORY);
  EXPECT_THAT(regard_last_message(), StartsWith("regard_x: not enough memory"));
  EXPECT_EQ(Guard("regard_x", [] { throw std::runtime_error("odd"); }),
            REGARD_ERROR_INTERNAL);
  EXPECT_STREQ(regard_last_message(), "regard_x: unexpected exception: odd");
  EXPECT_EQ(Guard("regard_x", [] { throw 7; }), REGARD_ERROR_INTERNAL);
  EXPECT_STREQ(regard_last_message(), "regard_x: unexpected exception");
}

TEST(BoundaryTest, SuccessLeavesTheMessage) {
  Guard("regard_x", [] { throw 7; });
  EXPECT_EQ(Guard("regard_y", [] {}), REGARD_OK);
  EXPECT_THAT(regard_last_message(), StartsWith("regard_x"));
}

TEST(BoundaryTest, LongMessagesEndBetweenCharacters) {
  for (size_t before = 0; before < 4; ++before) {
    std::string text(before, 'x');
    for (int i = 0; i < 1000; ++i) text += "\xE2\x82\xAC";  // euro signs
    Guard("regard_x", [&] { throw Error(ErrorKind::kUsage, "q", text); });
    const std::string message = regard_last_message();
    EXPECT_THAT(message, EndsWith("\xE2\x82\xAC"));
    EXPECT_GT(message.size(), 1000u);
    EXPECT_LT(message.size(), 1024u);
  }
}

TEST(MaskTest, EachTermHasItsFunction) {
  // A new term of the variant wants a regard_mask_and_ of its own.
  EXPECT_EQ(std::variant_size_v<MaskTerm>, 10u);
}

// Everything that a program may do, up to the first call that fails.
class Scenario {
 public:
  ~Scenario() {
    regard_plan_destroy(plan_);
    regard_options_destroy(options_);
    regard_problem_destroy(problem_);
    regard_mask_destroy(mask_);
  }

  regard_status Run() {
    const int64_t shape[] = {1, 2, 8, 4}, lengths[] = {7};
    regard_tensor x, y;
    const char* names[4];
    size_t count;
    const regard_partial part = {{}, {}};
    regard_status status = REGARD_OK;
    const auto ok = [&](regard_status next) {
      status = next;
      return status == REGARD_OK;
    };
    ok(regard_tensor_init(&x, in_.data(), REGARD_F32, 4, shape)) &&
        ok(regard_tensor_init(&y, out_.data(), REGARD_F32, 4, shape)) &&
        ok(regard_usable_instruction_sets(names, 4, &count)) &&
        ok(regard_kernels(names, 4, &count)) &&
        ok(regard_mask_create(&mask_)) && ok(regard_mask_and_causal(mask_)) &&
        ok(regard_mask_and_lengths(mask_, 1, lengths, lengths)) &&
        ok(regard_problem_create(&problem_)) &&
        ok(regard_problem_set_qkv(problem_, &x, &x, &x)) &&
        ok(regard_problem_set_mask(problem_, mask_)) &&
        ok(regard_options_create(&options_)) &&
        ok(regard_options_set_threads(options_, 1)) &&
        ok(regard_options_set_instruction_set(
            options_, "a name too long to be kept inside a string")) &&
        ok(regard_options_set_instruction_set(options_, NULL)) &&
        ok(regard_plan_create(problem_, options_, &plan_)) &&
        ok(regard_plan_run(plan_, problem_, &y, NULL, NULL)) &&
        ok(regard_attend(problem_, options_, &y, NULL, NULL)) &&
        ok(regard_for_each_weight_tile(
            problem_, options_,
            [](const regard_weight_tile*, void*) { return 0; }, NULL)) &&
        ok(regard_merge(&part, 0, &y, NULL, 1));
    return status;
  }

 private:
  std::vector<float> in_ = std::vector<float>(64, 0.5f),
                     out_ = std::vector<float>(64);
  regard_mask* mask_ = NULL;
  regard_problem* problem_ = NULL;
  regard_options* options_ = NULL;
  regard_plan* plan_ = NULL;
};

TEST(MemoryTest, RunsOutAtAnyAllocation) {
  regard_status status = REGARD_ERROR_MEMORY;
  int64_t n = 0;
  for (; status != REGARD_OK && n < 1000; ++n) {
    Scenario scenario;
    FailAllocationsAfter(n);
    status = scenario.Run();
    FailAllocationsAfter(-1);
    if (status != REGARD_OK) {
      ASSERT_EQ(status, REGARD_ERROR_MEMORY) << n << regard_last_message();
      ASSERT_THAT(regard_last_message(), HasSubstr("not enough memory"));
    }
  }
  EXPECT_EQ(status, REGARD_OK);
  EXPECT_GT(n, 10);
}

// What is created is freed, at success and at every failure.
TEST(MemoryTest, NothingIsLost) {
  Scenario().Run();
  const int64_t before = LiveAllocations();
  for (int i = 0; i < 1000; ++i) {
    Scenario scenario;
    FailAllocationsAfter(i % 50 < 40 ? i % 50 : -1);
    scenario.Run();
    FailAllocationsAfter(-1);
  }
  EXPECT_EQ(LiveAllocations(), before);
}

TEST(CallbackTest, WhatItThrowsStaysInside) {
  const std::vector<float> values(64, 0.5f);
  const int64_t shape[] = {1, 2, 8, 4};
  regard_tensor x;
  regard_problem* problem = NULL;
  ASSERT_EQ(regard_tensor_init(&x, values.data(), REGARD_F32, 4, shape),
            REGARD_OK);
  ASSERT_EQ(regard_problem_create(&problem), REGARD_OK);
  ASSERT_EQ(regard_problem_set_qkv(problem, &x, &x, &x), REGARD_OK);
  EXPECT_EQ(regard_for_each_weight_tile(
                problem, NULL,
                [](const regard_weight_tile*, void*) -> int32_t {
                  throw std::runtime_error("odd");
                },
                NULL),
            REGARD_ERROR_INTERNAL);
  EXPECT_THAT(regard_last_message(), EndsWith("odd"));
  regard_problem_destroy(problem);
}

}  // namespace
}  // namespace regard::inline v0
