// The bytes of one .npy array.
// Source: numpy, doc/neps/nep-0001-npy-format.rst and numpy/lib/format.py.
#ifndef REGARD_SRC_IO_NPY_FORMAT_H_
#define REGARD_SRC_IO_NPY_FORMAT_H_

#include <string>
#include <string_view>

#include "io/byte_source.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// Reads versions 1 to 3, C and Fortran order, both byte orders; the result is
// row-major, and its bools are 0 or 1. Nothing is allocated before the header
// and `source.remaining()` agree. `name` stands in messages. Error (kFormat),
// (kUnsupported) naming a type that has no counterpart here (objects, records,
// text, complex numbers, dates).
Tensor ReadNpy(ByteSource& source, const std::string& name);

// The header that numpy writes for a row-major array; `descr` as in "<f4".
std::string NpyHeader(std::string_view descr, const Dims& shape);
// "<f4"; bf16, which numpy lacks, has none (nullptr).
const char* NpyDescr(DType dtype);

// `view` as numpy can hold it: bf16 becomes f32 (exactly). `storage` keeps the
// result when it had to be made.
TensorView AsNpyType(const TensorView& view, Tensor* storage);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_NPY_FORMAT_H_
