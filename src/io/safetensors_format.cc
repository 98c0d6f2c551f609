#include "io/safetensors_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "io/json.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian and used in place");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // of the reference implementation

constexpr SafeTensorsType kTypes[] = {
    {"BOOL", 8, DType::kBool},
    {"F4", 4, std::nullopt},
    {"F6", 6, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},
    {"U8", 8, DType::kU8},
    {"I8", 8, DType::kI8},
    {"F8_E5M2", 8, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},
    {"I16", 16, DType::kI16},
    {"U16", 16, DType::kU16},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"I32", 32, DType::kI32},
    {"U32", 32, DType::kU32},
    {"F32", 32, DType::kF32},
    {"C64", 64, std::nullopt},
    {"F64", 64, DType::kF64},
    {"I64", 64, DType::kI64},
    {"U64", 64, DType::kU64},
};

class Parser {
 public:
  Parser(std::span<const uint8_t> file, const std::string& name)
      : file_(file), name_(name) {}

  SafeTensorsContent Parse() {
    const Json header = ReadHeader();
    for (const auto& [key, value] : header.AsObject(name_)) {
      if (key == "__metadata__") {
        ReadMetadata(value);
      } else {
        ReadEntry(key, value);
      }
    }
    CheckCoverage();
    std::sort(content_.entries.begin(), content_.entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return std::move(content_);
  }

 private:
  [[noreturn]] void Damaged(const std::string& reason) const {
    throw Error(ErrorKind::kFormat, name_, reason,
                "the file is damaged, fetch it again");
  }
  [[noreturn]] void Damaged(const std::string& tensor,
                            const std::string& reason) const {
    Damaged(fmt::format("tensor {}: {}", tensor, reason));
  }

  Json ReadHeader() {
    uint64_t length = 0;
    if (file_.size() < kLengthBytes) {
      Damaged(fmt::format("{} bytes are too few for a safetensors file",
                          file_.size()));
    }
    std::memcpy(&length, file_.data(), kLengthBytes);
    if (length > kMaxHeader) {
      Damaged(
          fmt::format("header too large: it claims {} bytes, the limit is "
                      "{} and the file has {}",
                      length, kMaxHeader, file_.size()));
    }
    if (length > file_.size() - kLengthBytes) {
      Damaged(fmt::format("the header claims {} bytes but the file has {}",
                          length, file_.size()));
    }
    const std::string_view text(
        reinterpret_cast<const char*>(file_.data()) + kLengthBytes, length);
    if (!text.starts_with('{')) {
      Damaged("no safetensors file: the header does not begin with {");
    }
    buffer_ = file_.subspan(kLengthBytes + length);
    Json header = Json::Parse(text, name_ + ": header");
    if (const auto twice = header.DuplicateKey()) {
      Damaged(fmt::format("{} stands twice in the header", *twice));
    }
    return header;
  }

  void ReadMetadata(const Json& value) {
    const std::string where = name_ + ": __metadata__";
    if (const auto twice = value.DuplicateKey()) {
      Damaged(fmt::format("{} stands twice in __metadata__", *twice));
    }
    for (const auto& [key, text] : value.AsObject(where)) {
      content_.metadata[key] = text.AsString(where + ": " + key);
    }
  }

  const Json& Member(const std::string& tensor, const Json& info,
                     const char* key) {
    const Json* value = info.Find(key);
    if (value == nullptr) Damaged(tensor, fmt::format("has no {}", key));
    return *value;
  }

  // A count or an offset.
  int64_t Size(const std::string& tensor, const Json& value, const char* what) {
    const int64_t size =
        value.AsInt(fmt::format("{}: tensor {}: {}", name_, tensor, what));
    if (size < 0) Damaged(tensor, fmt::format("{} {} is negative", what, size));
    return size;
  }

  void ReadEntry(const std::string& tensor, const Json& info) {
    const std::string where = fmt::format("{}: tensor {}", name_, tensor);
    info.AsObject(where);
    if (const auto twice = info.DuplicateKey()) {
      Damaged(tensor, fmt::format("{} stands twice", *twice));
    }
    const std::string& dtype =
        Member(tensor, info, "dtype").AsString(where + ": dtype");
    const SafeTensorsType* type = FindSafeTensorsType(dtype);
    if (type == nullptr) {
      throw Error(ErrorKind::kFormat, where,
                  fmt::format("unknown dtype {}", dtype),
                  "the file is damaged or newer than this program");
    }
    const Dims shape = ReadShape(tensor, Member(tensor, info, "shape"));
    const auto [begin, end] =
        ReadOffsets(tensor, Member(tensor, info, "data_offsets"));
    const int64_t needed = ByteSize(tensor, *type, shape);
    if (needed != end - begin) {
      Damaged(tensor, fmt::format("{} {} needs {} bytes but has {}", dtype,
                                  ToString(shape), needed, end - begin));
    }
    content_.entries.push_back({tensor, dtype, shape, buffer_.data() + begin,
                                static_cast<size_t>(needed)});
  }

  Dims ReadShape(const std::string& tensor, const Json& value) {
    const std::string where = fmt::format("{}: tensor {}", name_, tensor);
    const Json::Array& sizes = value.AsArray(where + ": shape");
    if (sizes.size() > kMaxRank) {
      throw Error(ErrorKind::kUnsupported, where,
                  fmt::format("has rank {}", sizes.size()),
                  fmt::format("ranks up to {} can be used", kMaxRank));
    }
    Dims shape;
    for (const Json& size : sizes) {
      shape.push_back(Size(tensor, size, "shape"));
    }
    return shape;
  }

  std::pair<int64_t, int64_t> ReadOffsets(const std::string& tensor,
                                          const Json& value) {
    const Json::Array& offsets = value.AsArray(
        fmt::format("{}: tensor {}: data_offsets", name_, tensor));
    if (offsets.size() != 2) {
      Damaged(tensor,
              fmt::format("has {} data_offsets, not 2", offsets.size()));
    }
    const int64_t begin = Size(tensor, offsets[0], "data_offsets");
    const int64_t end = Size(tensor, offsets[1], "data_offsets");
    if (begin > end || static_cast<uint64_t>(end) > buffer_.size()) {
      Damaged(tensor, fmt::format("its bytes [{}, {}) are not within the {} "
                                  "bytes of data",
                                  begin, end, buffer_.size()));
    }
    return {begin, end};
  }

  int64_t ByteSize(const std::string& tensor, const SafeTensorsType& type,
                   const Dims& shape) {
    int64_t bits = type.bits;
    for (const int64_t size : shape) {
      if (__builtin_mul_overflow(bits, size, &bits)) {
        Damaged(tensor, fmt::format("{} {} is too large to count", type.name,
                                    ToString(shape)));
      }
    }
    if (bits % 8 != 0) {
      Damaged(tensor, fmt::format("{} {} is not a whole number of bytes",
                                  type.name, ToString(shape)));
    }
    return bits / 8;
  }

  // The data are covered from the first to the last byte, without overlap.
  void CheckCoverage() {
    std::vector<const SafeTensors::Entry*> order;
    for (const SafeTensors::Entry& entry : content_.entries) {
      order.push_back(&entry);
    }
    const auto begin = [this](const SafeTensors::Entry* entry) {
      return static_cast<const uint8_t*>(entry->data) - buffer_.data();
    };
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
      return std::pair(begin(a), a->bytes) < std::pair(begin(b), b->bytes);
    });
    int64_t end = 0;
    for (const SafeTensors::Entry* entry : order) {
      if (begin(entry) != end) {
        Damaged(
            entry->name,
            fmt::format("begins at byte {} where {} was due ({})", begin(entry),
                        end, begin(entry) < end ? "an overlap" : "a hole"));
      }
      end += static_cast<int64_t>(entry->bytes);
    }
    if (static_cast<uint64_t>(end) != buffer_.size()) {
      Damaged(fmt::format("{} bytes of data belong to no tensor",
                          buffer_.size() - static_cast<uint64_t>(end)));
    }
  }

  std::span<const uint8_t> file_;
  std::span<const uint8_t> buffer_;
  const std::string& name_;
  SafeTensorsContent content_;
};

}  // namespace

std::span<const SafeTensorsType> SafeTensorsTypes() { return kTypes; }

const SafeTensorsType* FindSafeTensorsType(std::string_view name) {
  for (const SafeTensorsType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const SafeTensorsType& SafeTensorsTypeOf(DType dtype) {
  return *std::find_if(
      std::begin(kTypes), std::end(kTypes),
      [dtype](const SafeTensorsType& type) { return type.dtype == dtype; });
}

SafeTensorsContent ParseSafeTensors(std::span<const uint8_t> file,
                                    const std::string& name) {
  return Parser(file, name).Parse();
}

}  // namespace regard::inline v0
