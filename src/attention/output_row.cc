#include "attention/output_row.h"

#include "attention/rows.h"

namespace regard::inline v0 {

template <typename T>
void StoreOutRow(const MutableTensorView& to, const OutputRow& row,
                 const T* values) {
  std::byte* at = static_cast<std::byte*>(to.mutable_data()) +
                  row.Offset(to) * static_cast<int64_t>(ItemSize(to.dtype));
  StoreColumns(to.dtype, at, to.strides[3], to.shape[3], values);
}

template void StoreOutRow(const MutableTensorView&, const OutputRow&,
                          const float*);
template void StoreOutRow(const MutableTensorView&, const OutputRow&,
                          const double*);

}  // namespace regard::inline v0
