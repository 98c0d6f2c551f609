// MiniLM against Transformers in eager mode (tests/golden/make_minilm.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "model/test_support.h"
#include "regard/io.h"
#include "regard/lens.h"
#include "regard/model.h"

namespace regard::inline v0 {
namespace {

constexpr double kWeightTolerance = 1e-5;
// A signed sum gathers the rounding of a whole row, ours and PyTorch's: at most
// 6e-6 measured, 1.05e-5 with sums of other lengths in Linear.
constexpr double kSumTolerance = 1.5e-5;
constexpr double kHiddenTolerance = 1e-4;  // of the largest entry

class BertGoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory = FindModel("all-minilm-l6-v2");
    if (directory.empty()) GTEST_SKIP() << "./dev model brings the model";
    model_ = Model::Load(directory);
  }

  std::string Name(int text, const std::string& what) const {
    return std::to_string(text) + "." + what;
  }
  ModelOutput Run(int text, AttentionMaps& maps, int threads) const {
    return model_->Forward(
        EncodingOf(Int64s(golden_.Get(Name(text, "ids"))),
                   Int64s(golden_.Get(Name(text, "segments")))),
        {.observer = &maps, .hidden_states = true, .threads = threads});
  }
  void CheckWeights(int text, const AttentionMaps& maps) const;
  void CheckHeadInFull(int text, const TensorView& map, HeadId head) const;
  void CheckHeadBySums(int text, const TensorView& map, HeadId head) const;
  void CheckHidden(int text, const std::vector<Tensor>& states) const;

  std::unique_ptr<Model> model_;
  const SafeTensors golden_ = SafeTensors::Open(
      std::string(REGARD_SOURCE_DIR) + "/tests/golden/minilm.safetensors");
};

void BertGoldenTest::CheckHeadInFull(int text, const TensorView& map,
                                     HeadId head) const {
  const TensorView wanted = golden_.Get(Name(text, "attention"))
                                .Select(0, head.layer)
                                .Select(0, head.head);
  ASSERT_EQ(map.shape, wanted.shape);
  const Tensor found = Tensor::CopyOf(map), right = Tensor::CopyOf(wanted);
  for (int64_t i = 0; i < found.NumElements(); ++i) {
    ASSERT_NEAR(found.As<float>()[i], right.As<float>()[i], kWeightTolerance)
        << "text " << text << " L" << head.layer << "H" << head.head;
  }
}

void BertGoldenTest::CheckHeadBySums(int text, const TensorView& map,
                                     HeadId head) const {
  const Tensor found = Tensor::CopyOf(map);
  const Tensor wanted = Tensor::CopyOf(golden_.Get(Name(text, "attention_sums"))
                                           .Select(0, head.layer)
                                           .Select(0, head.head));
  const float* const signs = golden_.Get("attention_signs").As<float>();
  const int64_t length = found.dim(0);
  ASSERT_EQ(wanted.shape(), (Dims{length}));
  for (int64_t row = 0; row < length; ++row) {
    double sum = 0;
    for (int64_t key = 0; key < length; ++key) {
      sum += static_cast<double>(signs[key]) *
             found.As<float>()[row * length + key];
    }
    ASSERT_NEAR(sum, wanted.As<float>()[row], kSumTolerance)
        << "text " << text << " L" << head.layer << "H" << head.head << " row "
        << row;
  }
}

void BertGoldenTest::CheckWeights(int text, const AttentionMaps& maps) const {
  const bool full = golden_.Find(Name(text, "attention")) != nullptr;
  ASSERT_EQ(maps.layers(), 6);
  ASSERT_EQ(maps.heads(), 12);
  for (int layer = 0; layer < 6; ++layer) {
    for (int head = 0; head < 12; ++head) {
      const HeadId id = {layer, head};
      if (full) {
        CheckHeadInFull(text, maps.Map(id), id);
      } else {
        CheckHeadBySums(text, maps.Map(id), id);
      }
    }
  }
}

void BertGoldenTest::CheckHidden(int text,
                                 const std::vector<Tensor>& states) const {
  const TensorView sums = golden_.Get(Name(text, "hidden_sums"));
  const float* const largest =
      golden_.Get(Name(text, "hidden_max")).As<float>();
  const float* const signs = golden_.Get("hidden_signs").As<float>();
  ASSERT_EQ(static_cast<int64_t>(states.size()), sums.shape[0]);
  const int64_t length = sums.shape[1], count = sums.shape[2];
  const float* wanted = sums.As<float>();
  for (size_t layer = 0; layer < states.size(); ++layer) {
    const int64_t width = states[layer].dim(1);
    ASSERT_EQ(states[layer].dim(0), length);
    for (int64_t cell = 0; cell < length * count; ++cell) {
      const float* const state =
          states[layer].As<float>() + cell / count * width;
      double sum = 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += static_cast<double>(state[i]) * signs[i * count + cell % count];
      }
      ASSERT_NEAR(sum, *wanted++, kHiddenTolerance * largest[layer])
          << "text " << text << " state " << layer << " token " << cell / count;
    }
  }
}

TEST_F(BertGoldenTest, WeightsAndHiddenStates) {
  int text = 0;
  for (; golden_.Find(Name(text, "ids")) != nullptr; ++text) {
    AttentionMaps maps;
    const ModelOutput output = Run(text, maps, 0);
    CheckWeights(text, maps);
    CheckHidden(text, output.hidden_states);
  }
  EXPECT_EQ(text, 8);
}

TEST_F(BertGoldenTest, SameBitsForAnyThreads) {
  for (const int text : {1, 5}) {
    AttentionMaps one_maps;
    const ModelOutput one = Run(text, one_maps, 1);
    for (const int threads : {2, 5}) {
      AttentionMaps maps;
      const ModelOutput other = Run(text, maps, threads);
      EXPECT_EQ(0, std::memcmp(one.last_hidden_state.view().data,
                               other.last_hidden_state.view().data,
                               one.last_hidden_state.ByteSize()));
      const Tensor map = Tensor::CopyOf(maps.Map({5, 11}));
      const Tensor one_map = Tensor::CopyOf(one_maps.Map({5, 11}));
      EXPECT_EQ(
          0, std::memcmp(map.view().data, one_map.view().data, map.ByteSize()));
    }
  }
}

TEST_F(BertGoldenTest, WhatTheModelSaysAboutItself) {
  const ModelInfo& info = model_->info();
  EXPECT_EQ(info.family, "bert");
  EXPECT_EQ(info.layers, 6);
  EXPECT_EQ(info.heads, 12);
  EXPECT_EQ(info.head_size, 32);
  EXPECT_EQ(info.dtype, "f32");
  EXPECT_EQ(info.max_positions, 512);
  // 22,713,216 in the file without the pooler's 384 x 384 + 384.
  EXPECT_EQ(info.parameters, 22713216 - 384 * 385);
  AttentionMaps maps;
  Run(1, maps, 0);
  EXPECT_TRUE(model_->NonFiniteWeights().empty());
}

}  // namespace
}  // namespace regard::inline v0
