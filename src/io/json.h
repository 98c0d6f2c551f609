// A JSON value: read (checked, any document that is valid), look up with
// messages that name the place, build, write.
#ifndef REGARD_SRC_IO_JSON_H_
#define REGARD_SRC_IO_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace regard::inline v0 {

class Json {
 public:
  using Array = std::vector<Json>;
  // In the order of the document; a key may stand twice (see DuplicateKey).
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;                            // null
  Json(bool value) : value_(value) {}          // NOLINT: literals convert
  Json(int value) : value_(int64_t{value}) {}  // NOLINT
  Json(int64_t value) : value_(value) {}       // NOLINT
  Json(double value) : value_(value) {}        // NOLINT
  // Written with the digits that read back as this float32.
  Json(float value) : value_(value) {}                          // NOLINT
  Json(const char* value) : value_(std::string(value)) {}       // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}  // NOLINT
  Json(std::string value) : value_(std::move(value)) {}         // NOLINT
  Json(Array value) : value_(std::move(value)) {}               // NOLINT
  Json(Object value) : value_(std::move(value)) {}              // NOLINT

  // `name` stands in messages. Error (kFormat), with line and column where they
  // are known, for anything that is not one valid JSON document: deeper than
  // about 1,000 levels, invalid UTF-8, a lone surrogate, a number beyond
  // double. Integers beyond int64 become double.
  static Json Parse(std::string_view text, const std::string& name);

  bool IsNull() const { return value_.index() == 0; }
  bool IsBool() const { return std::holds_alternative<bool>(value_); }
  // An integer that fits int64 (1 but not 1.0).
  bool IsInt() const { return std::holds_alternative<int64_t>(value_); }
  bool IsNumber() const {
    return IsInt() || std::holds_alternative<double>(value_) ||
           std::holds_alternative<float>(value_);
  }
  bool IsString() const { return std::holds_alternative<std::string>(value_); }
  bool IsArray() const { return std::holds_alternative<Array>(value_); }
  bool IsObject() const { return std::holds_alternative<Object>(value_); }

  // Error (kFormat) naming `where` ("config.json: hidden_size") when the value
  // is of another kind.
  bool AsBool(const std::string& where) const;
  int64_t AsInt(const std::string& where) const;
  double AsNumber(const std::string& where) const;
  const std::string& AsString(const std::string& where) const;
  const Array& AsArray(const std::string& where) const;
  const Object& AsObject(const std::string& where) const;

  // Member of an object; nullptr when absent or when this is no object.
  const Json* Find(std::string_view key) const;
  // A key that occurs twice in this object, if any.
  std::optional<std::string> DuplicateKey() const;

  // Appends a member to an object (null becomes an empty object).
  void Set(std::string key, Json value);
  // Appends an element to an array (null becomes an empty array).
  void Append(Json value);

  // One line without spaces, shortest digits that read back (a floating-point
  // number keeps a point or an exponent); a number that is not finite is
  // written as null. UTF-8 is kept, what is not UTF-8 becomes U+FFFD; control
  // characters, U+2028 and U+2029 are escaped.
  std::string Dump() const;

 private:
  void DumpTo(std::string* out) const;
  static void DumpArray(const Array& array, std::string* out);
  static void DumpObject(const Object& object, std::string* out);

  std::variant<std::monostate, bool, int64_t, double, float, std::string, Array,
               Object>
      value_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_JSON_H_
