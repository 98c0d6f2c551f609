#include "text/folded_text.h"

#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "regard/error.h"
#include "text/aligned_text.h"
#include "text/icu_normalizers.h"

namespace regard::inline v0 {

namespace {

// One more than the marks that the Stream-Safe Text Format allows (Unicode
// Standard Annex 15, section 13): ICU takes quadratic time to order more.
constexpr size_t kLongestUnit = 31;

icu::UnicodeString ToIcu(std::u32string_view text) {
  icu::UnicodeString out;
  for (const char32_t c : text) out.append(static_cast<UChar32>(c));
  return out;
}

std::u32string FromIcu(const icu::UnicodeString& text) {
  std::u32string out;
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    out.push_back(static_cast<char32_t>(text.char32At(i)));
  }
  return out;
}

icu::UnicodeString Composed(const icu::UnicodeString& text) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeString out = NfcNormalizer().normalize(text, status);
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::kMemory, "ICU", "a text can't be normalized");
  }
  return out;
}

// Appends what original code points [begin, end) become, undivided.
void AppendUnit(icu::UnicodeString text, size_t begin, size_t end,
                FoldedText* out) {
  const std::u32string folded = FromIcu(Composed(text.foldCase()));
  out->chars += folded;
  out->begin.resize(out->chars.size(), static_cast<int64_t>(begin));
  out->end.resize(out->chars.size(), static_cast<int64_t>(end));
}

void AppendChar(char32_t c, size_t position, FoldedText* out) {
  if (c >= 0x80 && !u_isUWhiteSpace(static_cast<UChar32>(c))) {
    AppendUnit(icu::UnicodeString(static_cast<UChar32>(c)), position,
               position + 1, out);
    return;
  }
  if (c >= 'A' && c <= 'Z') {
    c += 'a' - 'A';
  } else if (u_isUWhiteSpace(static_cast<UChar32>(c))) {
    c = U' ';
  }
  out->chars.push_back(c);
  out->begin.push_back(static_cast<int64_t>(position));
  out->end.push_back(static_cast<int64_t>(position + 1));
}

}  // namespace

FoldedText Fold(std::u32string_view text) {
  const icu::Normalizer2& nfc = NfcNormalizer();
  FoldedText out;
  size_t begin = 0;
  while (begin < text.size()) {
    // What may compose with each other stays together.
    size_t end = begin + 1;
    while (end < text.size() && end - begin < kLongestUnit &&
           text[end] >= 0x300 &&
           !nfc.hasBoundaryBefore(static_cast<UChar32>(text[end]))) {
      ++end;
    }
    if (end - begin > 1) {
      const icu::UnicodeString unit = ToIcu(text.substr(begin, end - begin));
      const icu::UnicodeString composed = Composed(unit);
      if (composed != unit) {
        AppendUnit(composed, begin, end, &out);
        begin = end;
        continue;
      }
    }
    for (; begin < end; ++begin) AppendChar(text[begin], begin, &out);
  }
  return out;
}

std::u32string FoldedKey(std::string_view text) {
  std::u32string key = Fold(Decode(text).chars).chars;
  const size_t last = key.find_last_not_of(U' ');
  key.erase(last == std::u32string::npos ? 0 : last + 1);
  key.erase(0, key.find_first_not_of(U' '));
  return key;
}

}  // namespace regard::inline v0
