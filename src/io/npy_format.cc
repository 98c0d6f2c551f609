#include "io/npy_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <utility>

#include "regard/error.h"

namespace regard::inline v0 {

namespace {

static_assert(std::endian::native == std::endian::little,
              "little-endian data are taken as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
// numpy.load's own limit: simple arrays need less than 200 bytes.
constexpr uint64_t kMaxHeader = 10'000;

struct NpyType {
  const char* descr;
  DType dtype;
};
constexpr NpyType kTypes[] = {
    {"|b1", DType::kBool}, {"|u1", DType::kU8},  {"|i1", DType::kI8},
    {"<u2", DType::kU16},  {"<i2", DType::kI16}, {"<f2", DType::kF16},
    {"<u4", DType::kU32},  {"<i4", DType::kI32}, {"<f4", DType::kF32},
    {"<u8", DType::kU64},  {"<i8", DType::kI64}, {"<f8", DType::kF64},
};

struct Layout {
  DType dtype = DType::kF32;
  bool swapped = false;  // big-endian
  bool fortran = false;
  Dims shape;
};

// The Python dictionary of the header:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name)
      : text_(text), name_(name) {}

  Layout Parse() {
    Expect('{');
    bool descr = false, order = false, shape = false;
    while (!Accept('}')) {
      const std::string key = String();
      Expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        ReadDescr();
      } else if (key == "fortran_order" && !order) {
        order = true;
        layout_.fortran = Bool();
      } else if (key == "shape" && !shape) {
        shape = true;
        ReadShape();
      } else {
        Damaged(fmt::format("unexpected key '{}'", key));
      }
      if (Accept(',')) continue;
      Expect('}');
      break;
    }
    if (!descr || !order || !shape) {
      Damaged("descr, fortran_order or shape is missing");
    }
    SkipSpace();
    if (!text_.empty()) Damaged("text after the closing brace");
    return layout_;
  }

 private:
  [[noreturn]] void Damaged(const std::string& reason) const {
    throw Error(ErrorKind::kFormat, name_,
                "the header of the array is not valid: " + reason,
                "the file is damaged, write it again");
  }
  [[noreturn]] void Unsupported(const std::string& what) const {
    throw Error(ErrorKind::kUnsupported, name_, "an array of " + what,
                "save it as a plain array of numbers or bools");
  }

  void SkipSpace() {
    const size_t first = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(first, text_.size()));
  }
  bool Accept(char c) {
    SkipSpace();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) Damaged(fmt::format("'{}' is missing", c));
  }

  std::string String() {
    SkipSpace();
    const char quote = text_.empty() ? '\0' : text_[0];
    const size_t end = text_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
      Damaged("a string is missing");
    }
    const std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  bool Bool() {
    SkipSpace();
    for (const auto& [word, value] :
         {std::pair(std::string_view("True"), true),
          std::pair(std::string_view("False"), false)}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    Damaged("fortran_order is neither True nor False");
  }

  void ReadShape() {
    Expect('(');
    while (!Accept(')')) {
      SkipSpace();
      int64_t size = 0;
      const auto [end, error] =
          std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) {
        Damaged("a size in shape is no count");
      }
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2
      if (layout_.shape.size() == kMaxRank) {
        Unsupported(fmt::format("rank above {}", kMaxRank));
      }
      layout_.shape.push_back(size);
      if (!Accept(',')) {
        Expect(')');
        break;
      }
    }
  }

  void ReadDescr() {
    SkipSpace();
    if (text_.starts_with('[') || text_.starts_with('(')) {
      Unsupported("records (a structured type)");
    }
    const std::string descr = String();
    std::string_view type = descr;
    const char order = type.empty() ? '\0' : type[0];
    if (order == '<' || order == '>' || order == '|' || order == '=') {
      type.remove_prefix(1);
    }
    for (const NpyType& known : kTypes) {
      if (type != known.descr + 1) continue;
      layout_.dtype = known.dtype;
      layout_.swapped = order == '>' && ItemSize(known.dtype) > 1;
      return;
    }
    Unsupported(fmt::format("{} (numpy's type '{}')",
                            KindOf(type.empty() ? '\0' : type[0]), descr));
  }

  static const char* KindOf(char kind) {
    switch (kind) {
      case 'O':
        return "Python objects";
      case 'U':
      case 'S':
      case 'a':
        return "text";
      case 'c':
        return "complex numbers";
      case 'V':
        return "raw records";
      case 'm':
      case 'M':
        return "dates or durations";
      default:
        return "a type that is not known here";
    }
  }

  std::string_view text_;
  const std::string& name_;
  Layout layout_;
};

[[noreturn]] void Damaged(const std::string& name, const std::string& reason) {
  throw Error(ErrorKind::kFormat, name, reason,
              "the file is damaged, write it again");
}

std::string ReadBytes(ByteSource& source, uint64_t size,
                      const std::string& name) {
  if (source.remaining() < size) {
    Damaged(name, fmt::format("ends within the header of the array ({} bytes "
                              "are left, {} are due)",
                              source.remaining(), size));
  }
  std::string bytes(size, '\0');
  source.Read({reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

Layout ReadHeader(ByteSource& source, const std::string& name) {
  if (source.remaining() < kMagic.size() + 2 ||
      ReadBytes(source, kMagic.size(), name) != kMagic) {
    Damaged(name, "no .npy array: it does not begin with the mark \\x93NUMPY");
  }
  const std::string version = ReadBytes(source, 2, name);
  if (version[0] < 1 || version[0] > 3 || version[1] != 0) {
    throw Error(ErrorKind::kUnsupported, name,
                fmt::format("version {}.{} of the .npy format",
                            static_cast<uint8_t>(version[0]),
                            static_cast<uint8_t>(version[1])),
                "versions 1.0, 2.0 and 3.0 can be read");
  }
  uint64_t length = 0;
  int shift = 0;
  for (const char byte : ReadBytes(source, version[0] == 1 ? 2 : 4, name)) {
    length |= uint64_t{static_cast<uint8_t>(byte)} << shift;
    shift += 8;
  }
  if (length > kMaxHeader) {
    Damaged(name, fmt::format("the header of the array claims {} bytes, the "
                              "limit is {}",
                              length, kMaxHeader));
  }
  return HeaderParser(ReadBytes(source, length, name), name).Parse();
}

// Bytes of the data; nullopt past 63 bits.
std::optional<int64_t> ByteSize(const Layout& layout) {
  auto bytes = static_cast<int64_t>(ItemSize(layout.dtype));
  for (const int64_t size : layout.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

template <typename Word>
void SwapWords(void* data, size_t bytes) {
  Word* words = static_cast<Word*>(data);
  for (size_t i = 0; i < bytes / sizeof(Word); ++i) {
    if constexpr (sizeof(Word) == 2) words[i] = __builtin_bswap16(words[i]);
    if constexpr (sizeof(Word) == 4) words[i] = __builtin_bswap32(words[i]);
    if constexpr (sizeof(Word) == 8) words[i] = __builtin_bswap64(words[i]);
  }
}

void ToNative(const Layout& layout, std::span<uint8_t> bytes) {
  if (layout.dtype == DType::kBool) {
    for (uint8_t& byte : bytes) byte = byte != 0;
  }
  if (!layout.swapped) return;
  switch (ItemSize(layout.dtype)) {
    case 2:
      return SwapWords<uint16_t>(bytes.data(), bytes.size());
    case 4:
      return SwapWords<uint32_t>(bytes.data(), bytes.size());
    case 8:
      return SwapWords<uint64_t>(bytes.data(), bytes.size());
    default:
      return;
  }
}

// Fortran order: the first index runs fastest.
Tensor RowMajor(const Layout& layout, Tensor data) {
  const int rank = layout.shape.size();
  if (!layout.fortran || rank < 2) return data;
  Dims strides = layout.shape;
  int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    strides[i] = stride;
    stride *= layout.shape[i];
  }
  return Tensor::CopyOf(
      {data.view().data, layout.dtype, layout.shape, strides});
}

}  // namespace

Tensor ReadNpy(ByteSource& source, const std::string& name) {
  const Layout layout = ReadHeader(source, name);
  const std::optional<int64_t> bytes = ByteSize(layout);
  if (!bytes || static_cast<uint64_t>(*bytes) != source.remaining()) {
    Damaged(name,
            fmt::format("an array of {} {} needs {} bytes but {} are there",
                        Name(layout.dtype), ToString(layout.shape),
                        bytes ? std::to_string(*bytes) : "more than 2^63",
                        source.remaining()));
  }
  Tensor data(layout.dtype, layout.shape);
  const std::span<uint8_t> out(
      static_cast<uint8_t*>(data.mutable_view().mutable_data()),
      static_cast<size_t>(*bytes));
  source.Read(out);
  ToNative(layout, out);
  return RowMajor(layout, std::move(data));
}

const char* NpyDescr(DType dtype) {
  for (const NpyType& type : kTypes) {
    if (type.dtype == dtype) return type.descr;
  }
  return nullptr;
}

TensorView AsNpyType(const TensorView& view, Tensor* storage) {
  if (NpyDescr(view.dtype) != nullptr) return view;
  *storage = Converted(view, DType::kF32);
  return storage->view();
}

std::string NpyHeader(std::string_view descr, const Dims& shape) {
  constexpr size_t kPrefix = 10;     // mark, version, length
  constexpr size_t kAlignment = 64;  // of the data within the file
  std::string sizes;
  for (int i = 0; i < shape.size(); ++i) {
    sizes += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  if (shape.size() == 1) sizes += ',';
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                  descr, sizes);
  const size_t used = kPrefix + text.size() + 1;
  text.append(kAlignment - used % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xFF),
             static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace regard::inline v0
