// Typed, strided arrays: views that own nothing, and tensors that own aligned
// memory. Strides count elements, not bytes, and may be zero or negative.
#ifndef REGARD_TENSOR_H_
#define REGARD_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "regard/error.h"

namespace regard::inline v0 {

enum class DType : uint8_t {
  kBool,  // one byte, 0 or not 0
  kU8,
  kI8,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};

// Bytes of one element.
size_t ItemSize(DType dtype);
// "f32", "bf16", "bool", ...
const char* Name(DType dtype);

template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}

inline constexpr int kMaxRank = 8;

// A short list of sizes or strides without heap memory.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values)
      : Dims(std::span<const int64_t>(values.begin(), values.size())) {}
  // Error (kArgument) when longer than kMaxRank.
  explicit Dims(std::span<const int64_t> values);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](int i) const { return values_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return values_[static_cast<size_t>(i)]; }
  // From the end: Back(0) is the last.
  int64_t Back(int i) const { return (*this)[size_ - 1 - i]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  void push_back(int64_t value);
  bool operator==(const Dims& other) const;

 private:
  std::array<int64_t, kMaxRank> values_ = {};
  int size_ = 0;
};

// "[2, 3, 4]"
std::string ToString(const Dims& dims);
// Product of the sizes; Error (kSize) past 64 bits, Error (kArgument) when one
// is negative.
int64_t NumElements(const Dims& shape);
// Strides of a row-major contiguous array.
Dims ContiguousStrides(const Dims& shape);

// A read-only window on somebody else's memory. An empty view (`data` null and
// rank 0) means "not given".
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  Dims shape;
  Dims strides;  // in elements

  TensorView() = default;
  TensorView(const void* data, DType dtype, Dims shape);  // contiguous
  TensorView(const void* data, DType dtype, Dims shape, Dims strides);
  template <typename T>
  TensorView(const T* data, Dims shape)
      : TensorView(data, DTypeOf<T>(), shape) {}

  bool given() const { return data != nullptr || shape.size() > 0; }
  int rank() const { return shape.size(); }
  int64_t NumElements() const { return regard::NumElements(shape); }
  bool IsContiguous() const;
  // Error (kArgument) when the element type is not T.
  template <typename T>
  const T* As() const {
    RequireDType(DTypeOf<T>());
    return static_cast<const T*>(data);
  }
  // Axis `axis` fixed at `index`; rank shrinks by one.
  TensorView Select(int axis, int64_t index) const;
  // Elements [begin, end) of `axis`.
  TensorView Slice(int axis, int64_t begin, int64_t end) const;
  TensorView Transposed(int axis_a, int axis_b) const;
  // A new axis of size 1 before `axis`.
  TensorView Unsqueezed(int axis) const;
  // Same elements in another shape; Error (kArgument) unless contiguous.
  TensorView Reshaped(const Dims& new_shape) const;

 protected:
  void RequireDType(DType wanted) const;
};

// The same with the right to write.
struct MutableTensorView : TensorView {
  MutableTensorView() = default;
  MutableTensorView(void* data, DType dtype, Dims shape)
      : TensorView(data, dtype, shape) {}
  MutableTensorView(void* data, DType dtype, Dims shape, Dims strides)
      : TensorView(data, dtype, shape, strides) {}
  template <typename T>
  MutableTensorView(T* data, Dims shape)
      : TensorView(static_cast<const T*>(data), shape) {}
  void* mutable_data() const { return const_cast<void*>(data); }
  template <typename T>
  T* AsMutable() const {
    RequireDType(DTypeOf<T>());
    return static_cast<T*>(mutable_data());
  }
};

// Owns contiguous row-major memory, aligned to 64 bytes. Move-only; Clone()
// copies.
class Tensor {
 public:
  Tensor() = default;
  // Zero-filled. Error (kMemory) when the memory isn't there, (kSize) when the
  // size can't be counted.
  Tensor(DType dtype, const Dims& shape);
  // Copies `values`; Error (kArgument) when their number is not the product.
  static Tensor FromVector(const std::vector<float>& values, const Dims& shape);
  // A contiguous copy in the same type.
  static Tensor CopyOf(const TensorView& view);

  Tensor Clone() const { return CopyOf(view()); }
  bool given() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t NumElements() const { return regard::NumElements(shape_); }
  size_t ByteSize() const;
  TensorView view() const { return {data_.get(), dtype_, shape_}; }
  MutableTensorView mutable_view() { return {data_.get(), dtype_, shape_}; }
  operator TensorView() const { return view(); }  // NOLINT: meant to convert
  template <typename T>
  const T* As() const {
    return view().As<T>();
  }
  template <typename T>
  T* AsMutable() {
    return mutable_view().AsMutable<T>();
  }

 private:
  struct Free {
    void operator()(void* p) const noexcept;
  };
  std::unique_ptr<void, Free> data_;
  DType dtype_ = DType::kF32;
  Dims shape_;
};

// A contiguous copy in another floating type or from any numeric type to f32 or
// f64 (bf16 and f16 round to nearest even and keep NaN). Error (kUnsupported)
// for pairs that have no such conversion.
Tensor Converted(const TensorView& view, DType dtype);

}  // namespace regard::inline v0

#endif  // REGARD_TENSOR_H_
