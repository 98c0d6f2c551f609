#include <cstring>

#include "nn/input.h"
#include "regard/nn.h"

namespace regard::inline v0 {

Embedding::Embedding(int64_t count, int64_t size) : weight(Dims{count, size}) {}

std::vector<NamedParameter> Embedding::Parameters() {
  return {{"weight", &weight}};
}

Tensor Embedding::Forward(const std::vector<int64_t>& ids) const {
  RequireValues("Embedding", weight, "weight");
  const int64_t count = weight.shape()[0], size = weight.shape()[1];
  for (const int64_t id : ids) {
    if (id < 0 || id >= count) {
      throw Error(ErrorKind::kArgument, "Embedding",
                  "id " + std::to_string(id) + " in a table of " +
                      std::to_string(count) + " rows",
                  "ids go from 0 to " + std::to_string(count - 1));
    }
  }
  Tensor out(DType::kF32, {static_cast<int64_t>(ids.size()), size});
  if (size == 0) return out;
  float* row = out.AsMutable<float>();
  for (const int64_t id : ids) {
    std::memcpy(row, weight.data() + id * size,
                static_cast<size_t>(size) * sizeof(float));
    row += size;
  }
  return out;
}

}  // namespace regard::inline v0
