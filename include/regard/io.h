// Named tensors in files: safetensors (read, write), npy and npz (read, write).
// Every byte that is read is treated as untrusted.
#ifndef REGARD_IO_H_
#define REGARD_IO_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "regard/tensor.h"

namespace regard::inline v0 {

// A memory-mapped safetensors checkpoint: one file, or the shards named by
// model.safetensors.index.json. The layout is checked as a whole at opening;
// the numbers themselves are not read before they are used.
class SafeTensors {
 public:
  struct Entry {
    std::string name;
    std::string dtype;  // as the file spells it: "F32", "BF16", "F8_E4M3"
    Dims shape;         // rank up to kMaxRank
    const void* data;   // not necessarily aligned; lives as long as this object
    size_t bytes;
  };
  // `path`: a .safetensors file or an index .json, whose shards lie beside it;
  // of them only the tensors that the index names are seen. Error (kFile,
  // kFormat), (kUnsupported) for a rank above kMaxRank.
  static SafeTensors Open(const std::string& path);
  ~SafeTensors();
  SafeTensors(SafeTensors&&) noexcept;
  SafeTensors& operator=(SafeTensors&&) noexcept;

  const std::vector<Entry>& entries() const;       // in order of name
  const Entry* Find(std::string_view name) const;  // nullptr: not there
  // Of all shards together; where two differ, the first by file name counts.
  const std::map<std::string, std::string>& metadata() const;
  // A view in place when the data are aligned for their type and this library
  // has the type; else a copy is made and kept. May be called from several
  // threads. Error (kFormat) when there is no such tensor, (kUnsupported)
  // naming type and tensor when it can't be used.
  TensorView Get(std::string_view name) const;

 private:
  struct State;
  explicit SafeTensors(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

using NamedViews = std::vector<std::pair<std::string, TensorView>>;

// Written beside the target, renamed when complete; the data start at a
// multiple of 8 bytes, wide types first, then in order of name. Error (kFile),
// (kArgument) for a name that is used twice, is "__metadata__" or is not UTF-8.
void WriteSafeTensors(const std::string& path, const NamedViews& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// One array: "x.npy", "x.npz:member", "x.safetensors:name" (the name may be
// left out when the file holds one array), or "-", an .npy file on standard
// input. Any layout numpy writes (C or Fortran order, both byte orders, packed
// or not); the result is contiguous and its bools are 0 or 1. Error (kFile,
// kFormat), (kUnsupported) for records, text, objects, complex numbers,
// (kUsage) when the name is missing or unknown.
Tensor ReadArray(const std::string& spec);
// The names that ReadArray takes after the colon; {""} for an .npy file.
std::vector<std::string> ListArrays(const std::string& path);

// Row-major, with numpy's own header; bf16, which numpy lacks, is written as
// f32 (exactly). Error (kFile).
void WriteNpy(const std::string& path, const TensorView& array);

// An .npz archive that numpy.load reads: members are added one by one, the file
// appears under its name at Commit (without it, nothing stays). Uncompressed,
// ZIP64 where needed, no dates: same members, same bytes. Types as in WriteNpy.
// Error (kFile), (kArgument) for a name that is used twice.
class NpzWriter {
 public:
  explicit NpzWriter(const std::string& path);
  ~NpzWriter();
  NpzWriter(NpzWriter&&) noexcept;
  void Add(const std::string& name, const TensorView& array);
  // A unicode array ('<U') of rank 1 (AddStrings) or 0 (AddString) from UTF-8;
  // what is not UTF-8 becomes U+FFFD. (numpy drops zeros at the end of each.)
  void AddStrings(const std::string& name,
                  const std::vector<std::string>& values);
  void AddString(const std::string& name, const std::string& value);
  void Commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regard::inline v0

#endif  // REGARD_IO_H_
