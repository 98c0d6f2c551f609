#include "capi/tensor.h"

#include <algorithm>
#include <string>

#include "capi/boundary.h"

namespace regard::inline v0 {

namespace {

// The numbers of C are those of DType.
constexpr bool Same(int number, DType type) {
  return number == static_cast<int>(type);
}
static_assert(Same(REGARD_BOOL, DType::kBool) && Same(REGARD_U8, DType::kU8) &&
              Same(REGARD_I8, DType::kI8) && Same(REGARD_U16, DType::kU16) &&
              Same(REGARD_I16, DType::kI16) && Same(REGARD_F16, DType::kF16) &&
              Same(REGARD_BF16, DType::kBF16) &&
              Same(REGARD_U32, DType::kU32) && Same(REGARD_I32, DType::kI32) &&
              Same(REGARD_F32, DType::kF32) && Same(REGARD_U64, DType::kU64) &&
              Same(REGARD_I64, DType::kI64) && Same(REGARD_F64, DType::kF64));
static_assert(REGARD_MAX_RANK == kMaxRank);

void CheckTypeAndRank(int32_t dtype, int32_t rank, const ArgumentName& name) {
  if (dtype < REGARD_BOOL || dtype > REGARD_F64) {
    throw Error(ErrorKind::kArgument, name.Text(),
                "dtype " + std::to_string(dtype) + " does not exist",
                "use REGARD_F32, REGARD_F64, ...");
  }
  if (rank < 0 || rank > REGARD_MAX_RANK) {
    throw Error(ErrorKind::kArgument, name.Text(),
                "rank " + std::to_string(rank) + " is not within 0 and " +
                    std::to_string(REGARD_MAX_RANK));
  }
}

}  // namespace

MutableTensorView ViewOf(const regard_tensor* tensor,
                         const ArgumentName& name) {
  if (tensor == nullptr) return {};
  CheckTypeAndRank(tensor->dtype, tensor->rank, name);
  const size_t rank = static_cast<size_t>(tensor->rank);
  return {tensor->data, static_cast<DType>(tensor->dtype),
          Dims(std::span(tensor->shape, rank)),
          Dims(std::span(tensor->strides, rank))};
}

MutableTensorView RequiredViewOf(const regard_tensor* tensor,
                                 const ArgumentName& name) {
  return ViewOf(&Required(tensor, name.name), name);
}

}  // namespace regard::inline v0

regard_status regard_tensor_init(regard_tensor* tensor, const void* data,
                                 int32_t dtype, int32_t rank,
                                 const int64_t* shape) {
  return regard::Guard("regard_tensor_init", [&] {
    regard::Required(tensor, "tensor");
    regard::CheckTypeAndRank(dtype, rank, "tensor");
    if (rank > 0) regard::Required(shape, "shape");
    const regard::Dims dims(std::span(shape, static_cast<size_t>(rank)));
    regard::NumElements(dims);  // refuses what can't be counted
    const regard::Dims strides = regard::ContiguousStrides(dims);
    regard_tensor result = {};
    result.data = const_cast<void*>(data);
    result.dtype = dtype;
    result.rank = rank;
    std::copy(dims.begin(), dims.end(), result.shape);
    std::copy(strides.begin(), strides.end(), result.strides);
    *tensor = result;
  });
}
