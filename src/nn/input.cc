#include "nn/input.h"

#include <utility>

#include "base/checked.h"

namespace regard::inline v0 {

namespace {

[[noreturn]] void Bad(const char* module, const std::string& reason,
                      const std::string& hint = "") {
  throw Error(ErrorKind::kArgument, module, reason, hint);
}

}  // namespace

Rows::Rows(const char* module, const TensorView& x, int64_t width,
           const char* width_name) {
  if (!x.given()) Bad(module, "no input given");
  if (x.dtype != DType::kF32) {
    Bad(module, std::string("the input is ") + Name(x.dtype) + ", not f32",
        "convert it with Converted(x, DType::kF32)");
  }
  if (x.rank() < 1 || x.shape.Back(0) != width) {
    Bad(module, "the input is " + ToString(x.shape) +
                    ", but its last axis has to be " + width_name + " = " +
                    std::to_string(width));
  }
  if (x.strides.size() != x.rank()) {
    Bad(module, "the input has the shape " + ToString(x.shape) +
                    ", but the strides " + ToString(x.strides));
  }
  if (x.data == nullptr && x.NumElements() != 0) {
    Bad(module, "the input " + ToString(x.shape) + " has no memory");
  }
  view_ = x;
  if (!x.IsContiguous()) {
    copy_ = Tensor::CopyOf(x);
    view_ = copy_.view();
  }
  count_ = 1;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) {
    count_ = CheckedMul(count_, x.shape[axis], module);
  }
}

Dims Rows::ShapeWith(int64_t new_width) const {
  Dims shape = view_.shape;
  shape[shape.size() - 1] = new_width;
  return shape;
}

Sequences SequencesOf(const char* module, const char* argument,
                      const TensorView& x) {
  if (x.rank() == 2) return {1, x.shape[0], false};
  if (x.rank() == 3) return {x.shape[0], x.shape[1], true};
  Bad(module, std::string(argument) + " is " + ToString(x.shape) +
                  ", but has to be [B, L, d_model] or [L, d_model]");
}

void RequireValues(const char* module, const Parameter& parameter,
                   const char* name) {
  if (!parameter.given() || parameter.has_values()) return;
  Bad(module,
      std::string(name) + " " + ToString(parameter.shape()) +
          " has no values yet",
      "call Load, Bind or InitializeXavier before Forward");
}

}  // namespace regard::inline v0
