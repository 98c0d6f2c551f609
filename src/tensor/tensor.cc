#include "regard/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/aligned_memory.h"
#include "base/checked.h"

namespace regard::inline v0 {

namespace {

[[noreturn]] void Bad(const char* function, const std::string& reason) {
  throw Error(ErrorKind::kArgument, function, reason);
}

void RequireAxis(const char* function, int axis, int rank) {
  if (axis < 0 || axis >= rank) {
    Bad(function, "axis " + std::to_string(axis) + " of an array of rank " +
                      std::to_string(rank));
  }
}

Dims Without(const Dims& dims, int axis) {
  Dims out;
  for (int i = 0; i < dims.size(); ++i) {
    if (i != axis) out.push_back(dims[i]);
  }
  return out;
}

}  // namespace

size_t ItemSize(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
      return 1;
    case DType::kU16:
    case DType::kI16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU32:
    case DType::kI32:
    case DType::kF32:
      return 4;
    case DType::kU64:
    case DType::kI64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

const char* Name(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kU8:
      return "u8";
    case DType::kI8:
      return "i8";
    case DType::kU16:
      return "u16";
    case DType::kI16:
      return "i16";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kU32:
      return "u32";
    case DType::kI32:
      return "i32";
    case DType::kF32:
      return "f32";
    case DType::kU64:
      return "u64";
    case DType::kI64:
      return "i64";
    case DType::kF64:
      return "f64";
  }
  return "?";
}

Dims::Dims(std::span<const int64_t> values) {
  for (const int64_t value : values) push_back(value);
}

void Dims::push_back(int64_t value) {
  if (size_ == kMaxRank) {
    Bad("Dims", "more than " + std::to_string(kMaxRank) + " axes");
  }
  values_[static_cast<size_t>(size_++)] = value;
}

bool Dims::operator==(const Dims& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::string ToString(const Dims& dims) {
  std::string out = "[";
  for (int i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(dims[i]);
  }
  return out + "]";
}

int64_t NumElements(const Dims& shape) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) Bad("shape", ToString(shape) + " has a negative size");
    // An empty array stays empty, however large its other sizes.
    if (size == 0) empty = true;
  }
  if (empty) return 0;
  for (const int64_t size : shape) count = CheckedMul(count, size, "shape");
  return count;
}

Dims ContiguousStrides(const Dims& shape) {
  Dims strides = shape;
  const bool empty = NumElements(shape) == 0;
  int64_t stride = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    if (!empty) stride *= shape[i];
  }
  return strides;
}

TensorView::TensorView(const void* data, DType dtype, Dims shape)
    : TensorView(data, dtype, shape, ContiguousStrides(shape)) {}

TensorView::TensorView(const void* data, DType dtype, Dims shape, Dims strides)
    : data(data), dtype(dtype), shape(shape), strides(strides) {
  if (shape.size() != strides.size()) {
    Bad("TensorView", "shape " + ToString(shape) + " and strides " +
                          ToString(strides) + " differ in rank");
  }
}

bool TensorView::IsContiguous() const {
  if (NumElements() == 0) return true;
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

TensorView TensorView::Slice(int axis, int64_t begin, int64_t end) const {
  RequireAxis("TensorView::Slice", axis, rank());
  if (begin < 0 || begin > end || end > shape[axis]) {
    Bad("TensorView::Slice", "[" + std::to_string(begin) + ", " +
                                 std::to_string(end) + ") of an axis of size " +
                                 std::to_string(shape[axis]));
  }
  TensorView out = *this;
  out.shape[axis] = end - begin;
  // An empty array may have no memory to point into.
  if (data != nullptr && begin != 0) {
    out.data = static_cast<const char*>(data) +
               begin * strides[axis] * static_cast<int64_t>(ItemSize(dtype));
  }
  return out;
}

TensorView TensorView::Select(int axis, int64_t index) const {
  RequireAxis("TensorView::Select", axis, rank());
  if (index < 0 || index >= shape[axis]) {
    Bad("TensorView::Select", "index " + std::to_string(index) +
                                  " of an axis of size " +
                                  std::to_string(shape[axis]));
  }
  TensorView out = Slice(axis, index, index + 1);
  out.shape = Without(out.shape, axis);
  out.strides = Without(out.strides, axis);
  return out;
}

TensorView TensorView::Transposed(int axis_a, int axis_b) const {
  RequireAxis("TensorView::Transposed", axis_a, rank());
  RequireAxis("TensorView::Transposed", axis_b, rank());
  TensorView out = *this;
  std::swap(out.shape[axis_a], out.shape[axis_b]);
  std::swap(out.strides[axis_a], out.strides[axis_b]);
  return out;
}

TensorView TensorView::Unsqueezed(int axis) const {
  if (axis < 0 || axis > rank()) {
    Bad("TensorView::Unsqueezed", "axis " + std::to_string(axis) +
                                      " of an array of rank " +
                                      std::to_string(rank()));
  }
  TensorView out = *this;
  out.shape = Dims();
  out.strides = Dims();
  for (int i = 0; i <= rank(); ++i) {
    if (i == axis) {
      out.shape.push_back(1);
      out.strides.push_back(0);
    }
    if (i < rank()) {
      out.shape.push_back(shape[i]);
      out.strides.push_back(strides[i]);
    }
  }
  return out;
}

TensorView TensorView::Reshaped(const Dims& new_shape) const {
  if (!IsContiguous()) Bad("TensorView::Reshaped", "the view has gaps");
  if (regard::NumElements(new_shape) != NumElements()) {
    Bad("TensorView::Reshaped",
        ToString(shape) + " does not fill " + ToString(new_shape));
  }
  return TensorView(data, dtype, new_shape);
}

void TensorView::RequireDType(DType wanted) const {
  if (dtype != wanted) {
    Bad("TensorView::As",
        std::string("an array of ") + Name(dtype) + " read as " + Name(wanted));
  }
}

void Tensor::Free::operator()(void* p) const noexcept { std::free(p); }

Tensor::Tensor(DType dtype, const Dims& shape) : dtype_(dtype), shape_(shape) {
  const int64_t bytes =
      CheckedMul(regard::NumElements(shape),
                 static_cast<int64_t>(ItemSize(dtype)), "Tensor");
  const int64_t padded =
      CheckedAdd(bytes, static_cast<int64_t>(kMemoryAlignment), "Tensor");
  const size_t size = static_cast<size_t>(
      RoundUp(padded - static_cast<int64_t>(kMemoryAlignment) + 1,
              int64_t{kMemoryAlignment}));
  data_.reset(AllocateAligned(size));
  if (data_ == nullptr) {
    throw Error(ErrorKind::kMemory, "Tensor " + ToString(shape),
                "no memory for " + std::to_string(bytes) + " bytes");
  }
  std::memset(data_.get(), 0, size);
}

size_t Tensor::ByteSize() const {
  return static_cast<size_t>(NumElements()) * ItemSize(dtype_);
}

Tensor Tensor::FromVector(const std::vector<float>& values, const Dims& shape) {
  if (regard::NumElements(shape) != static_cast<int64_t>(values.size())) {
    Bad("Tensor::FromVector", std::to_string(values.size()) +
                                  " values do not fill " + ToString(shape));
  }
  Tensor out(DType::kF32, shape);
  std::copy(values.begin(), values.end(), out.AsMutable<float>());
  return out;
}

namespace {

// Copies axis `axis` and those behind it; returns where the next element goes.
char* CopyAxis(const TensorView& from, int axis, const char* source,
               char* target) {
  const size_t item = ItemSize(from.dtype);
  if (axis == from.rank()) {
    std::memcpy(target, source, item);
    return target + item;
  }
  const int64_t size = from.shape[axis];
  const int64_t step = from.strides[axis] * static_cast<int64_t>(item);
  if (axis == from.rank() - 1 && from.strides[axis] == 1) {
    std::memcpy(target, source, static_cast<size_t>(size) * item);
    return target + static_cast<size_t>(size) * item;
  }
  for (int64_t i = 0; i < size; ++i) {
    target = CopyAxis(from, axis + 1, source + i * step, target);
  }
  return target;
}

}  // namespace

Tensor Tensor::CopyOf(const TensorView& view) {
  Tensor out(view.dtype, view.shape);
  if (out.NumElements() == 0) return out;
  CopyAxis(view, 0, static_cast<const char*>(view.data),
           static_cast<char*>(out.data_.get()));
  return out;
}

}  // namespace regard::inline v0
