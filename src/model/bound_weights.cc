#include "model/bound_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/parallel_for.h"
#include "base/strings.h"

namespace regard::inline v0 {

namespace {

bool CanBeWeight(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16 || dtype == DType::kF64;
}

}  // namespace

void BoundWeights::Bind(const std::vector<std::string>& names,
                        Parameter& parameter) {
  const auto name = std::find_if(names.begin(), names.end(),
                                 [&](const std::string& candidate) {
                                   return tensors_->Find(candidate) != nullptr;
                                 });
  if (name == names.end()) {
    throw Error(ErrorKind::kFormat, path_,
                fmt::format("holds no tensor {}", Join(names, " or ")),
                "config.json asks for it; the two files do not belong together "
                "or one is damaged");
  }
  const Dims& found = tensors_->Find(*name)->shape;
  if (!(found == parameter.shape())) {
    throw Error(
        ErrorKind::kFormat, path_,
        fmt::format("tensor {} is {}, but config.json makes it {}", *name,
                    ToString(found), ToString(parameter.shape())),
        "the two files do not belong together or one is damaged");
  }
  TensorView view = tensors_->Get(*name);
  const std::string type = Name(view.dtype);
  if (!CanBeWeight(view.dtype)) {
    throw Error(
        ErrorKind::kUnsupported, path_,
        fmt::format("tensor {} is {}, which can't be a weight", *name, type),
        "weights are f32, f16, bf16 or f64");
  }
  if (view.dtype != DType::kF32) {
    converted_.push_back(Converted(view, DType::kF32));
    view = converted_.back().view();
  }
  parameter.Bind(view);
  bound_.emplace_back(*name, view);
  parameters_ += view.NumElements();
  if (std::find(types_.begin(), types_.end(), type) == types_.end()) {
    types_.push_back(type);
  }
}

std::string BoundWeights::StoredTypes() const { return Join(types_); }

std::vector<std::string> BoundWeights::NonFinite(int threads) const {
  std::vector<char> finite(bound_.size(), 1);
  ParallelFor(static_cast<int64_t>(bound_.size()), threads,
              [&](int64_t task, int) {
                const size_t i = static_cast<size_t>(task);
                finite[i] = AllFinite(bound_[i].second);
              });
  std::vector<std::string> names;
  for (size_t i = 0; i < bound_.size(); ++i) {
    if (!finite[i]) names.push_back(bound_[i].first);
  }
  return names;
}

bool AllFinite(const TensorView& values) {
  constexpr uint32_t kExponent = 0x7F800000;
  const float* const data = values.As<float>();
  const int64_t count = values.NumElements();
  uint32_t special = 0;
  for (int64_t i = 0; i < count; ++i) {
    special |= (std::bit_cast<uint32_t>(data[i]) & kExponent) == kExponent;
  }
  return special == 0;
}

}  // namespace regard::inline v0
