// Comma-separated text (RFC 4180, lines end in \n): rows in, text out, piece by
// piece.
#ifndef REGARD_SRC_IO_CSV_H_
#define REGARD_SRC_IO_CSV_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace regard::inline v0 {

class CsvText {
 public:
  // In quotes where it holds a comma, a quote or a line end; otherwise as it
  // is (a token "=" stays "=").
  void Cell(std::string_view text);
  void Cell(int64_t value);
  void Cell(int value) { Cell(int64_t{value}); }
  // The shortest digits that read back as the same float32 or float64; nan,
  // inf and -inf, as numpy and pandas read them.
  void Cell(float value);
  void Cell(double value);
  void EndRow();

  const std::string& text() const { return text_; }
  // The text so far; the next piece begins empty. (Call it between rows to
  // write a long table as it comes.)
  std::string Take();

 private:
  void Separate();

  std::string text_;
  bool row_begins_ = true;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_IO_CSV_H_
