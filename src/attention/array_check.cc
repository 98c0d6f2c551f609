#include "attention/array_check.h"

#include <cstdlib>
#include <limits>

namespace regard::inline v0 {

namespace {

// No array is larger; an address plus this many bytes still fits 64 bits.
constexpr int64_t kMaxBytes = int64_t{1} << 62;

}  // namespace

std::string ArgumentName::Text() const {
  if (member == nullptr) return name;
  return std::string(name) + "[" + std::to_string(index) + "]." + member;
}

void ArrayChecker::Fail(const ArgumentName& argument, const std::string& reason,
                        const std::string& hint, ErrorKind kind) const {
  throw Error(kind, function_ + ": " + argument.Text(), reason, hint);
}

void ArrayChecker::Memory(const TensorView& view,
                          const ArgumentName& name) const {
  for (const int64_t size : view.shape) {
    if (size < 0) Fail(name, "shape " + ToString(view.shape) + " is negative");
  }
  // The fields of a view are open to everybody.
  if (view.strides.size() != view.rank()) {
    Fail(name, "shape " + ToString(view.shape) + " and strides " +
                   ToString(view.strides) + " differ in rank");
  }
  if (view.NumElements() == 0) return;
  if (view.data == nullptr) {
    Fail(name, "no memory for shape " + ToString(view.shape));
  }
  // Bytes between the first and the last element. No message is made before
  // there is an error: a plan's Run allocates nothing.
  int64_t reach = 0;
  bool overflow = false;
  for (int i = 0; i < view.rank(); ++i) {
    int64_t step;
    overflow |=
        __builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &step) ||
        __builtin_mul_overflow(step, ItemSize(view.dtype), &step) ||
        step == std::numeric_limits<int64_t>::min() ||
        __builtin_add_overflow(reach, std::abs(step), &reach) ||
        reach > kMaxBytes;
  }
  if (overflow) {
    Fail(name,
         "shape " + ToString(view.shape) + " with strides " +
             ToString(view.strides) + " does not fit 64-bit addresses",
         "", ErrorKind::kSize);
  }
}

void ArrayChecker::Floating(const TensorView& view,
                            const ArgumentName& name) const {
  if (view.dtype == DType::kF32 || view.dtype == DType::kF64) return;
  Fail(name, std::string("type ") + Name(view.dtype) + " is not supported",
       "convert it to f32 or f64", ErrorKind::kUnsupported);
}

void ArrayChecker::Shape(const TensorView& view, const ArgumentName& name,
                         const Dims& wanted, const char* letters) const {
  if (view.shape == wanted) return;
  Fail(name, "shape " + ToString(view.shape) + " is not " + letters + " = " +
                 ToString(wanted));
}

}  // namespace regard::inline v0
