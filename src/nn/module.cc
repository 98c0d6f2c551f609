#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "base/strings.h"
#include "regard/nn.h"

namespace regard::inline v0 {

Parameter::Parameter(const Dims& shape) {
  static_cast<void>(NumElements(shape));  // refuses impossible sizes
  view_.shape = shape;
  view_.strides = ContiguousStrides(shape);
}

namespace {

void RequireValues(const char* function, const TensorView& values,
                   const Dims& shape) {
  if (values.dtype == DType::kF32 && values.shape == shape &&
      values.data != nullptr) {
    return;
  }
  throw Error(ErrorKind::kArgument, function,
              std::string("values are ") + Name(values.dtype) + " " +
                  ToString(values.shape) + ", the parameter is f32 " +
                  ToString(shape));
}

}  // namespace

void Parameter::Bind(const TensorView& memory) {
  RequireValues("Parameter::Bind", memory, shape());
  if (!memory.IsContiguous()) {
    throw Error(ErrorKind::kArgument, "Parameter::Bind",
                "the memory is not contiguous", "use Assign, which copies");
  }
  view_.data = memory.data;
  owned_ = Tensor();
}

void Parameter::Assign(const TensorView& values) {
  RequireValues("Parameter::Assign", values, shape());
  owned_ = Tensor::CopyOf(values);
  view_.data = owned_.view().data;
}

void Parameter::Fill(float value) {
  Tensor values(DType::kF32, shape());
  std::fill_n(values.AsMutable<float>(), values.NumElements(), value);
  owned_ = std::move(values);
  view_.data = owned_.view().data;
}

namespace {

const TensorView* FindTensor(
    const std::vector<std::pair<std::string, TensorView>>& tensors,
    const std::string& name) {
  for (const auto& [candidate, view] : tensors) {
    if (candidate == name) return &view;
  }
  return nullptr;
}

void RequireKnownNames(
    const std::vector<NamedParameter>& parameters,
    const std::vector<std::pair<std::string, TensorView>>& tensors) {
  std::vector<std::string> known;
  for (const NamedParameter& entry : parameters) known.push_back(entry.name);
  for (auto at = tensors.begin(); at != tensors.end(); ++at) {
    const std::string& name = at->first;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorKind::kArgument, "Module::Load",
                  "\"" + name + "\" is no parameter of this module",
                  "its parameters are " + Join(known));
    }
    if (std::any_of(tensors.begin(), at,
                    [&](const auto& other) { return other.first == name; })) {
      throw Error(ErrorKind::kArgument, "Module::Load",
                  "\"" + name + "\" is given twice");
    }
  }
}

}  // namespace

void Module::Load(
    const std::vector<std::pair<std::string, TensorView>>& tensors) {
  const std::vector<NamedParameter> parameters = Parameters();
  RequireKnownNames(parameters, tensors);
  for (const NamedParameter& entry : parameters) {
    const TensorView* values = FindTensor(tensors, entry.name);
    const std::string subject = "Module::Load: " + entry.name;
    if (values == nullptr) {
      throw Error(ErrorKind::kArgument, subject, "missing");
    }
    RequireValues(subject.c_str(), *values, entry.parameter->shape());
  }
  for (const NamedParameter& entry : parameters) {
    entry.parameter->Assign(*FindTensor(tensors, entry.name));
  }
}

namespace {

bool IsWeight(const std::string& name) {
  constexpr std::string_view kEnding = "weight";
  return name.size() >= kEnding.size() &&
         name.compare(name.size() - kEnding.size(), kEnding.size(), kEnding) ==
             0;
}

void FillUniform(Parameter& matrix, std::mt19937_64& generator) {
  const Dims& shape = matrix.shape();
  const double bound = std::sqrt(6.0 / static_cast<double>(std::max<int64_t>(
                                           1, shape.Back(0) + shape.Back(1))));
  Tensor values(DType::kF32, shape);
  float* const data = values.AsMutable<float>();
  const int64_t count = values.NumElements();
  for (int64_t i = 0; i < count; ++i) {
    // 53 bits in [0, 1): the standard's distributions differ between libraries.
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    data[i] = static_cast<float>((2 * unit - 1) * bound);
  }
  matrix.Assign(values);
}

}  // namespace

void InitializeXavier(Module& module, uint64_t seed) {
  std::mt19937_64 generator(seed);
  for (const NamedParameter& entry : module.Parameters()) {
    if (entry.parameter->shape().size() >= 2) {
      FillUniform(*entry.parameter, generator);
    } else {
      entry.parameter->Fill(IsWeight(entry.name) ? 1.0f : 0.0f);
    }
  }
}

}  // namespace regard::inline v0
