// The elements of any view as one run of bytes in row-major order.
#ifndef REGARD_SRC_IO_PACKED_H_
#define REGARD_SRC_IO_PACKED_H_

#include <string_view>

#include "regard/tensor.h"

namespace regard::inline v0 {

class Packed {
 public:
  // Copies only what is not contiguous; the view's memory must outlive this.
  // Error (kArgument) for a view of nothing.
  explicit Packed(const TensorView& view) {
    const auto elements = static_cast<size_t>(view.NumElements());
    if (view.data == nullptr && elements > 0) {
      throw Error(ErrorKind::kArgument, "writing an array", "it has no data");
    }
    const void* data = view.data;
    if (!view.IsContiguous()) {
      copy_ = Tensor::CopyOf(view);
      data = copy_.view().data;
    }
    bytes_ = {static_cast<const char*>(data), elements * ItemSize(view.dtype)};
  }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  Tensor copy_;
  std::string_view bytes_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_PACKED_H_
