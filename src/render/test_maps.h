// Maps for the tests of this folder.
#ifndef REGARD_SRC_RENDER_TEST_MAPS_H_
#define REGARD_SRC_RENDER_TEST_MAPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/render.h"

namespace regard::inline v0 {

// Rows that sum to 1, mostly small values, the same at every call.
inline Tensor TestWeights(int64_t rows, int64_t columns) {
  Tensor weights(DType::kF32, {rows, columns});
  float* values = weights.AsMutable<float>();
  uint32_t state = 1;
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      state = state * 1664525u + 1013904223u;
      const float x = static_cast<float>(state >> 8) / (1 << 24);
      values[i * columns + j] = x * x * x * x;
      sum += values[i * columns + j];
    }
    for (int64_t j = 0; j < columns; ++j) values[i * columns + j] /= sum;
  }
  return weights;
}

// true above the diagonal: what a causal mask hides.
inline Tensor AboveDiagonal(int64_t size) {
  Tensor hidden(DType::kBool, {size, size});
  bool* values = hidden.AsMutable<bool>();
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) values[i * size + j] = j > i;
  }
  return hidden;
}

// Labels that break careless writers.
inline std::vector<std::string> HostileLabels() {
  return {"a<b",
          "&amp;",
          "]]>",
          "\"quoted\" 'too'",
          std::string("nul\0l", 5),
          "\uFFFE\uFFFF",
          "\x1b[31mred\x1b[0m",
          "line\nbreak\ttab",
          "\u202Eoverride",
          "broken \xC3\x28 \xED\xA0\x80 \xFF",
          "</script><b>",
          "--><!--",
          "東京タワー",
          "שלום",
          "👩\u200D💻",
          "e\u0301"};
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_TEST_MAPS_H_
