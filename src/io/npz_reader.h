// The arrays of an .npz archive in memory.
#ifndef REGARD_SRC_IO_NPZ_READER_H_
#define REGARD_SRC_IO_NPZ_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/zip_reader.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

class NpzReader {
 public:
  // The bytes must outlive this; `name` stands in messages. Error (kFormat).
  NpzReader(std::span<const uint8_t> archive, const std::string& name);

  // Of the members that are arrays, in the order of the archive, without .npy.
  const std::vector<std::string>& names() const { return names_; }
  // `array` is one of names(). Error (kFormat, kUnsupported).
  Tensor Read(std::string_view array) const;

 private:
  std::string name_;
  ZipReader zip_;
  std::vector<std::string> names_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_NPZ_READER_H_
