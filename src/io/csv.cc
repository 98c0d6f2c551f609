#include "io/csv.h"

#include <charconv>
#include <utility>

namespace regard::inline v0 {

namespace {

template <typename Number>
void Append(Number value, std::string* out) {
  char digits[32];
  const auto result = std::to_chars(digits, digits + sizeof(digits), value);
  out->append(digits, result.ptr);
}

}  // namespace

void CsvText::Separate() {
  if (!row_begins_) text_ += ',';
  row_begins_ = false;
}

void CsvText::Cell(std::string_view text) {
  Separate();
  if (!text.empty() &&
      text.find_first_of(",\"\r\n") == std::string_view::npos) {
    text_ += text;
    return;
  }
  // Quotes tell an empty text from a missing value.
  text_ += '"';
  for (const char c : text) {
    if (c == '"') text_ += '"';
    text_ += c;
  }
  text_ += '"';
}

void CsvText::Cell(int64_t value) {
  Separate();
  Append(value, &text_);
}

void CsvText::Cell(float value) {
  Separate();
  Append(value, &text_);
}

void CsvText::Cell(double value) {
  Separate();
  Append(value, &text_);
}

void CsvText::EndRow() {
  text_ += '\n';
  row_begins_ = true;
}

std::string CsvText::Take() { return std::exchange(text_, {}); }

}  // namespace regard::inline v0
