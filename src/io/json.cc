#include "io/json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "regard/error.h"

namespace regard::inline v0 {

namespace {

// ---- Reading ----

constexpr int kMaxDepth = 1000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// simdjson refuses an integer beyond 64 bits, which JSON allows (a tokenizer
// without a limit says 1000000000000000019884624838656). With an exponent
// appended it is read as a double.
std::string WithWideIntegersAsDoubles(std::string_view text) {
  constexpr size_t kDigitsOfUint64 = 20;
  std::string out;
  out.reserve(text.size() + 2);
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string || !IsDigit(text[i])) {
      if (text[i] == '"') in_string = !in_string;
      const size_t length = in_string && text[i] == '\\' ? 2 : 1;
      out += text.substr(i, length);
      i += length;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsDigit(text[end])) ++end;
    const bool integer =
        end == text.size() ||
        (text[end] != '.' && text[end] != 'e' && text[end] != 'E');
    out += text.substr(i, end - i);
    // Digits behind a point or an exponent are no number of their own.
    const bool starts = i == 0 || (text[i - 1] != '.' && text[i - 1] != 'e' &&
                                   text[i - 1] != 'E' && text[i - 1] != '+');
    const bool exponent = i >= 2 && text[i - 1] == '-' &&
                          (text[i - 2] == 'e' || text[i - 2] == 'E');
    if (integer && starts && !exponent && end - i >= kDigitsOfUint64) {
      out += "e0";
    }
    i = end;
  }
  return out;
}

// Visits everything below `value` until something is not valid; `depth` levels
// may follow.
simdjson::error_code Walk(simdjson::ondemand::value value, int depth);

simdjson::error_code WalkArray(simdjson::ondemand::array array, int depth) {
  for (auto item : array) {
    simdjson::ondemand::value value;
    if (auto error = item.get(value)) return error;
    if (auto error = Walk(value, depth)) return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code WalkObject(simdjson::ondemand::object object, int depth) {
  for (auto item : object) {
    simdjson::ondemand::field field;
    if (auto error = std::move(item).get(field)) return error;
    std::string_view key;
    if (auto error = field.unescaped_key().get(key)) return error;
    if (auto error = Walk(field.value(), depth)) return error;
  }
  return simdjson::SUCCESS;
}

simdjson::error_code Walk(simdjson::ondemand::value value, int depth) {
  if (depth == 0) return simdjson::DEPTH_ERROR;
  simdjson::ondemand::json_type type;
  if (auto error = value.type().get(type)) return error;
  switch (type) {
    case simdjson::ondemand::json_type::array: {
      simdjson::ondemand::array array;
      if (auto error = value.get_array().get(array)) return error;
      return WalkArray(array, depth - 1);
    }
    case simdjson::ondemand::json_type::object: {
      simdjson::ondemand::object object;
      if (auto error = value.get_object().get(object)) return error;
      return WalkObject(object, depth - 1);
    }
    case simdjson::ondemand::json_type::string:
      return value.get_string().error();
    case simdjson::ondemand::json_type::number:
      return value.get_number().error();
    case simdjson::ondemand::json_type::boolean:
      return value.get_bool().error();
    case simdjson::ondemand::json_type::null:
      return simdjson::SUCCESS;
  }
  return simdjson::SUCCESS;
}

// "line 3, column 7" of the first place that is not valid; "" when it can't be
// told. (The parser that builds trees doesn't say; the one that walks does.)
std::string PlaceOfError(const simdjson::padded_string& text) {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  if (parser.iterate(text).get(document)) return "";
  simdjson::ondemand::value root;
  if (document.get_value().get(root)) return "";
  if (!Walk(root, kMaxDepth)) return "";
  const char* place = nullptr;
  if (document.current_location().get(place)) return "";
  const char* begin = text.data();
  if (place < begin || place > begin + text.size()) return "";
  const auto line = std::count(begin, place, '\n') + 1;
  const char* line_begin = place;
  while (line_begin > begin && line_begin[-1] != '\n') --line_begin;
  return fmt::format("line {}, column {}", line, place - line_begin + 1);
}

const char* Explain(simdjson::error_code code) {
  switch (code) {
    case simdjson::EMPTY:
      return "nothing in it";
    case simdjson::UTF8_ERROR:
      return "not UTF-8";
    case simdjson::DEPTH_ERROR:
      return "nested too deep (about 1,000 levels are allowed)";
    case simdjson::NUMBER_ERROR:
      return "a number that is malformed or beyond double precision";
    case simdjson::STRING_ERROR:
      return "a string with an escape that is not valid";
    case simdjson::UNESCAPED_CHARS:
      return "a control character inside a string";
    case simdjson::UNCLOSED_STRING:
      return "a string that never ends";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "a word that is not true, false or null";
    default:
      return "a bracket, comma, colon or value is missing or misplaced";
  }
}

[[noreturn]] void NotJson(const std::string& name, simdjson::error_code code,
                          const simdjson::padded_string& text) {
  if (code == simdjson::MEMALLOC || code == simdjson::CAPACITY) {
    throw Error(ErrorKind::kMemory, name, "too large to read as JSON");
  }
  const std::string place = PlaceOfError(text);
  throw Error(ErrorKind::kFormat, name,
              std::string("not valid JSON") +
                  (place.empty() ? ": " : " at " + place + ": ") +
                  Explain(code),
              "the file is damaged or of another kind; fetch it again");
}

Json Convert(simdjson::dom::element element) {
  using Type = simdjson::dom::element_type;
  switch (element.type()) {
    case Type::ARRAY: {
      const simdjson::dom::array source = element.get_array().value_unsafe();
      Json::Array array;
      array.reserve(source.size());
      for (simdjson::dom::element item : source) {
        array.push_back(Convert(item));
      }
      return array;
    }
    case Type::OBJECT: {
      const simdjson::dom::object source = element.get_object().value_unsafe();
      Json::Object object;
      object.reserve(source.size());
      for (simdjson::dom::key_value_pair item : source) {
        object.emplace_back(std::string(item.key), Convert(item.value));
      }
      return object;
    }
    case Type::INT64:
      return element.get_int64().value_unsafe();
    case Type::UINT64:
      return static_cast<double>(element.get_uint64().value_unsafe());
    case Type::DOUBLE:
      return element.get_double().value_unsafe();
    case Type::STRING:
      return std::string_view(element.get_string().value_unsafe());
    case Type::BOOL:
      return element.get_bool().value_unsafe();
    case Type::NULL_VALUE:
      break;
  }
  return {};
}

// ---- Looking up ----

const char* KindName(const Json& value) {
  if (value.IsNull()) return "null";
  if (value.IsBool()) return "true or false";
  if (value.IsInt()) return "an integer";
  if (value.IsNumber()) return "a number that is no 64-bit integer";
  if (value.IsString()) return "a string";
  if (value.IsArray()) return "an array";
  return "an object";
}

[[noreturn]] void WrongKind(const std::string& where, const char* wanted,
                            const Json& found) {
  throw Error(ErrorKind::kFormat, where,
              std::string("must be ") + wanted + ", not " + KindName(found));
}

// ---- Writing ----

template <typename Float>
void AppendFloat(Float value, std::string* out) {
  if (!std::isfinite(value)) {
    *out += "null";
    return;
  }
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  const std::string_view text(digits, result.ptr - digits);
  *out += text;
  // So that it is read back as a floating-point number.
  if (text.find_first_of(".e") == std::string_view::npos) *out += ".0";
}

void AppendEscaped(char32_t c, std::string* out) {
  switch (c) {
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    default:
      fmt::format_to(std::back_inserter(*out), "\\u{:04x}",
                     static_cast<uint32_t>(c));
  }
}

bool NeedsEscape(char32_t c) {
  // Beside what JSON demands: DEL and C1 controls drive terminals, U+2028 and
  // U+2029 end lines in JavaScript.
  return c < 0x20 || c == '"' || c == '\\' || (c >= 0x7F && c < 0xA0) ||
         c == 0x2028 || c == 0x2029;
}

void AppendString(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t next = 0; next < text.size();) {
    const char32_t c = NextCodePoint(text, next);
    if (NeedsEscape(c)) {
      AppendEscaped(c, out);
    } else {
      AppendUtf8(*out, c);
    }
  }
  *out += '"';
}

}  // namespace

Json Json::Parse(std::string_view text, const std::string& name) {
  simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  auto error = parser.parse(padded).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    padded = simdjson::padded_string(WithWideIntegersAsDoubles(text));
    error = parser.parse(padded).get(root);
  }
  if (error) NotJson(name, error, simdjson::padded_string(text));
  return Convert(root);
}

bool Json::AsBool(const std::string& where) const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  WrongKind(where, "true or false", *this);
}

int64_t Json::AsInt(const std::string& where) const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return *value;
  WrongKind(where, "an integer", *this);
}

double Json::AsNumber(const std::string& where) const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const float* value = std::get_if<float>(&value_)) return *value;
  WrongKind(where, "a number", *this);
}

const std::string& Json::AsString(const std::string& where) const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  WrongKind(where, "a string", *this);
}

const Json::Array& Json::AsArray(const std::string& where) const {
  if (const Array* value = std::get_if<Array>(&value_)) return *value;
  WrongKind(where, "an array", *this);
}

const Json::Object& Json::AsObject(const std::string& where) const {
  if (const Object* value = std::get_if<Object>(&value_)) return *value;
  WrongKind(where, "an object", *this);
}

const Json* Json::Find(std::string_view key) const {
  const Object* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::optional<std::string> Json::DuplicateKey() const {
  const Object* object = std::get_if<Object>(&value_);
  if (object == nullptr) return std::nullopt;
  std::vector<std::string_view> keys;
  keys.reserve(object->size());
  for (const auto& [name, value] : *object) keys.push_back(name);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return std::nullopt;
  return std::string(*twice);
}

void Json::Set(std::string key, Json value) {
  if (IsNull()) value_ = Object();
  Object* object = std::get_if<Object>(&value_);
  if (object == nullptr) WrongKind("Json::Set", "an object", *this);
  object->emplace_back(std::move(key), std::move(value));
}

void Json::Append(Json value) {
  if (IsNull()) value_ = Array();
  Array* array = std::get_if<Array>(&value_);
  if (array == nullptr) WrongKind("Json::Append", "an array", *this);
  array->push_back(std::move(value));
}

std::string Json::Dump() const {
  std::string out;
  DumpTo(&out);
  return out;
}

void Json::DumpTo(std::string* out) const {
  if (IsNull()) {
    *out += "null";
  } else if (const bool* boolean = std::get_if<bool>(&value_)) {
    *out += *boolean ? "true" : "false";
  } else if (const int64_t* integer = std::get_if<int64_t>(&value_)) {
    *out += std::to_string(*integer);
  } else if (const double* number = std::get_if<double>(&value_)) {
    AppendFloat(*number, out);
  } else if (const float* single = std::get_if<float>(&value_)) {
    AppendFloat(*single, out);
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    AppendString(*text, out);
  } else if (const Array* array = std::get_if<Array>(&value_)) {
    DumpArray(*array, out);
  } else {
    DumpObject(std::get<Object>(value_), out);
  }
}

void Json::DumpArray(const Array& array, std::string* out) {
  *out += '[';
  for (size_t i = 0; i < array.size(); ++i) {
    if (i > 0) *out += ',';
    array[i].DumpTo(out);
  }
  *out += ']';
}

void Json::DumpObject(const Object& object, std::string* out) {
  *out += '{';
  for (size_t i = 0; i < object.size(); ++i) {
    if (i > 0) *out += ',';
    AppendString(object[i].first, out);
    *out += ':';
    object[i].second.DumpTo(out);
  }
  *out += '}';
}

}  // namespace regard::inline v0
