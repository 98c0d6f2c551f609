// The tensors of a checkpoint that a model has bound to its modules.
#ifndef REGARD_SRC_MODEL_BOUND_WEIGHTS_H_
#define REGARD_SRC_MODEL_BOUND_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "regard/io.h"
#include "regard/nn.h"

namespace regard::inline v0 {

// Binds parameters to tensors by name: in place where the file holds aligned
// f32, else to a converted copy kept here.
class BoundWeights {
 public:
  // `path` stands in messages; both must outlive this.
  BoundWeights(const SafeTensors& tensors, std::string path)
      : tensors_(&tensors), path_(std::move(path)) {}

  // Binds to the first of `names` that exists. Error (kFormat) when none does
  // or the shape is another one, (kUnsupported) when its type can't be a
  // weight; each names the tensor.
  void Bind(const std::vector<std::string>& names, Parameter& parameter);

  // Numbers bound so far.
  int64_t parameters() const { return parameters_; }
  // The types in the file, in order of appearance: "f32", or "bf16, f32".
  std::string StoredTypes() const;
  // Names of the tensors that hold a NaN or an infinity; reads all of them.
  std::vector<std::string> NonFinite(int threads) const;

 private:
  const SafeTensors* tensors_;
  std::string path_;
  std::vector<std::pair<std::string, TensorView>> bound_;
  std::vector<Tensor> converted_;
  std::vector<std::string> types_;
  int64_t parameters_ = 0;
};

// Whether every number of a contiguous f32 array is finite.
bool AllFinite(const TensorView& values);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_MODEL_BOUND_WEIGHTS_H_
