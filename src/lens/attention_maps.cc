#include <algorithm>
#include <string>

#include "lens/value_norms.h"
#include "regard/lens.h"

namespace regard::inline v0 {
namespace {

// All weights of a call with batch 1, [heads, queries, keys] f32, through the
// tile loop of the engine: tiles that a mask hides are left out there and stay
// 0 here.
Tensor CollectWeights(const AttentionProblem& problem, int threads) {
  const int64_t heads = problem.q.shape[1];
  const int64_t queries = problem.q.shape[2];
  const int64_t keys = problem.k.shape[2];
  Tensor weights(DType::kF32, {heads, queries, keys});
  float* out = weights.AsMutable<float>();
  AttentionOptions options;
  options.threads = threads;
  ForEachWeightTile(problem, options, [&](const WeightTile& tile) {
    for (int64_t q = tile.query_begin; q < tile.query_end; ++q) {
      const float* row = tile.weights + (q - tile.query_begin) * tile.stride;
      std::copy(row, row + (tile.key_end - tile.key_begin),
                out + (tile.head * queries + q) * keys + tile.key_begin);
    }
  });
  return weights;
}

}  // namespace

std::string ToString(HeadId head) {
  return "L" + std::to_string(head.layer) + "H" + std::to_string(head.head);
}

AttentionMaps::AttentionMaps(bool value_norms, int threads)
    : want_norms_(value_norms), threads_(threads) {}

AttentionMaps::AttentionMaps(std::vector<Tensor> weights,
                             std::vector<Tensor> norms)
    : want_norms_(!norms.empty()),
      weights_(std::move(weights)),
      norms_(std::move(norms)) {
  bool good = norms_.empty() || norms_.size() == weights_.size();
  for (const Tensor& w : weights_) {
    good = good && w.dtype() == DType::kF32 && w.shape().size() == 3 &&
           w.shape() == weights_[0].shape();
  }
  for (const Tensor& n : norms_) {
    good =
        good && n.dtype() == DType::kF32 && n.shape() == Dims{heads(), keys()};
  }
  if (good) return;
  throw Error(ErrorKind::kArgument, "AttentionMaps",
              "weights and norms of different layers do not fit together",
              "give f32 weights [heads, queries, keys] of one shape for each "
              "layer, and norms [heads, keys] for all layers or none");
}

void AttentionMaps::OnAttention(const AttentionCall& call) {
  const AttentionProblem& problem = *call.problem;
  if (problem.q.shape[0] != 1) {
    throw Error(ErrorKind::kArgument, "AttentionMaps: q",
                "holds a batch of " + std::to_string(problem.q.shape[0]) +
                    ", maps are kept for one text",
                "run the texts one by one");
  }
  if (problem.query_starts.given() || problem.key_starts.given() ||
      problem.key_lengths.given()) {
    throw Error(ErrorKind::kArgument, "AttentionMaps: q",
                "holds sequences of lengths of their own, maps are kept for "
                "one text",
                "run the texts one by one");
  }
  if (call.layer == 0) {
    weights_.clear();
    norms_.clear();
  }
  Tensor weights = CollectWeights(problem, threads_);
  if (call.layer != layers() ||
      (layers() > 0 && !(weights.shape() == weights_[0].shape()))) {
    throw Error(ErrorKind::kArgument, "AttentionMaps",
                "layer " + std::to_string(call.layer) + " with weights " +
                    ToString(weights.shape()) + " after " +
                    std::to_string(layers()) + " layers of another order or " +
                    "shape",
                "observe the layers of one run in order, from 0");
  }
  if (want_norms_) {
    norms_.push_back(regard::ValueNorms(problem.v.Select(0, 0),
                                        call.output_projection,
                                        problem.q.shape[1], threads_));
  }
  weights_.push_back(std::move(weights));
}

int AttentionMaps::heads() const {
  return weights_.empty() ? 0 : static_cast<int>(weights_[0].dim(0));
}
int64_t AttentionMaps::queries() const {
  return weights_.empty() ? 0 : weights_[0].dim(1);
}
int64_t AttentionMaps::keys() const {
  return weights_.empty() ? 0 : weights_[0].dim(2);
}

std::vector<HeadId> AttentionMaps::AllHeads() const {
  std::vector<HeadId> all;
  for (int layer = 0; layer < layers(); ++layer) {
    for (int head = 0; head < heads(); ++head) all.push_back({layer, head});
  }
  return all;
}

void AttentionMaps::RequireHead(HeadId head) const {
  if (head.layer >= 0 && head.layer < layers() && head.head >= 0 &&
      head.head < heads()) {
    return;
  }
  throw Error(ErrorKind::kArgument, "AttentionMaps: " + ToString(head),
              "there are " + std::to_string(layers()) + " layers of " +
                  std::to_string(heads()) + " heads, counted from 0");
}

TensorView AttentionMaps::Map(HeadId head) const {
  RequireHead(head);
  return weights_[head.layer].view().Select(0, head.head);
}

TensorView AttentionMaps::ValueNorms(HeadId head) const {
  RequireHead(head);
  if (!want_norms_) return {};
  return norms_[head.layer].view().Select(0, head.head);
}

}  // namespace regard::inline v0
