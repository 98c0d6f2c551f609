#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "io/npy_format.h"
#include "io/packed.h"
#include "io/zip_writer.h"
#include "regard/io.h"

namespace regard::inline v0 {

struct NpzWriter::State {
  ZipWriter zip;

  // '<U': every text as wide as the longest, in UTF-32.
  void AddTexts(const std::string& name, std::span<const std::string> values,
                const Dims& shape) {
    std::vector<std::u32string> texts;
    size_t width = 1;
    for (const std::string& value : values) {
      std::u32string& text = texts.emplace_back();
      for (size_t next = 0; next < value.size();) {
        text += NextCodePoint(value, next);
      }
      width = std::max(width, text.size());
    }
    std::u32string cells;
    for (std::u32string& text : texts) {
      text.resize(width, U'\0');
      cells += text;
    }
    const std::string header = NpyHeader(fmt::format("<U{}", width), shape);
    zip.Add(name + ".npy", {header,
                            {reinterpret_cast<const char*>(cells.data()),
                             cells.size() * sizeof(char32_t)}});
  }
};

NpzWriter::NpzWriter(const std::string& path)
    : state_(new State{ZipWriter(path)}) {}
NpzWriter::~NpzWriter() = default;
NpzWriter::NpzWriter(NpzWriter&&) noexcept = default;

void NpzWriter::Add(const std::string& name, const TensorView& array) {
  Tensor storage;
  const TensorView view = AsNpyType(array, &storage);
  const Packed packed(view);
  const std::string header = NpyHeader(NpyDescr(view.dtype), view.shape);
  state_->zip.Add(name + ".npy", {header, packed.bytes()});
}

void NpzWriter::AddStrings(const std::string& name,
                           const std::vector<std::string>& values) {
  state_->AddTexts(name, values, {static_cast<int64_t>(values.size())});
}

void NpzWriter::AddString(const std::string& name, const std::string& value) {
  state_->AddTexts(name, {&value, 1}, {});
}

void NpzWriter::Commit() { state_->zip.Commit(); }

}  // namespace regard::inline v0
