// Small maps for the tests of this folder.
#ifndef REGARD_SRC_LENS_TEST_MAPS_H_
#define REGARD_SRC_LENS_TEST_MAPS_H_

#include <cmath>
#include <random>
#include <vector>

#include "regard/lens.h"

namespace regard::inline v0 {

// One layer with one head.
inline AttentionMaps OneMap(const std::vector<float>& weights, int64_t queries,
                            int64_t keys,
                            const std::vector<float>& norms = {}) {
  std::vector<Tensor> w, n;
  w.push_back(Tensor::FromVector(weights, {1, queries, keys}));
  if (!norms.empty()) n.push_back(Tensor::FromVector(norms, {1, keys}));
  return AttentionMaps(std::move(w), std::move(n));
}

// Rows that sum to 1, norms between 0.1 and 3.
inline AttentionMaps RandomMaps(int layers, int64_t heads, int64_t n,
                                unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> score(-3, 3), norm(0.1f, 3);
  std::vector<Tensor> weights, norms;
  for (int layer = 0; layer < layers; ++layer) {
    Tensor w(DType::kF32, {heads, n, n}), f(DType::kF32, {heads, n});
    float* a = w.AsMutable<float>();
    for (int64_t row = 0; row < heads * n; ++row) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        a[row * n + j] = std::exp(score(random));
        sum += a[row * n + j];
      }
      for (int64_t j = 0; j < n; ++j) a[row * n + j] /= sum;
    }
    for (int64_t j = 0; j < heads * n; ++j) {
      f.AsMutable<float>()[j] = norm(random);
    }
    weights.push_back(std::move(w));
    norms.push_back(std::move(f));
  }
  return AttentionMaps(std::move(weights), std::move(norms));
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_LENS_TEST_MAPS_H_
