// BertNormalizer: cleans, sets CJK ideographs apart, strips accents, lowers.
#include <algorithm>

#include "io/json.h"
#include "text/parts.h"
#include "text/reference_unicode.h"

namespace regard::inline v0 {

namespace {

namespace unicode = reference_unicode;

AlignedText Cleaned(const AlignedText& text) {
  AlignedText out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text.chars[i];
    if (c == 0 || c == 0xFFFD || unicode::IsControl(c)) continue;
    out.Append(unicode::IsWhitespace(c) ? U' ' : c, text.origin[i]);
  }
  return out;
}

AlignedText IdeographsApart(const AlignedText& text) {
  AlignedText out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool apart = unicode::IsCjkIdeograph(text.chars[i]);
    if (apart) out.Append(U' ', text.origin[i]);
    out.Append(text.chars[i], text.origin[i]);
    if (apart) out.Append(U' ', text.origin[i]);
  }
  return out;
}

// Sorts each run of combining marks [begin, end) by class, keeping the order of
// equals.
void OrderMarks(size_t begin, size_t end, std::u32string* chars,
                std::vector<uint8_t>* classes, std::vector<bool>* added) {
  struct Mark {
    char32_t c;
    uint8_t combining_class;
    bool added;
  };
  std::vector<Mark> marks;
  for (size_t i = begin; i < end; ++i) {
    marks.push_back({(*chars)[i], (*classes)[i], (*added)[i]});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) {
                     return a.combining_class < b.combining_class;
                   });
  for (size_t i = begin; i < end; ++i) {
    (*chars)[i] = marks[i - begin].c;
    (*added)[i] = marks[i - begin].added;
  }
}

// NFD. The reference aligns by counting: a character that replaces one takes
// the next origin, one that a decomposition added keeps the current origin, in
// the order *after* marks were sorted.
AlignedText Decomposed(const AlignedText& text) {
  std::u32string chars;
  std::vector<bool> added;
  chars.reserve(text.size());
  added.reserve(text.size());
  for (const char32_t c : text.chars) {
    const size_t first = chars.size();
    unicode::AppendDecomposition(c, &chars);
    added.push_back(false);
    added.insert(added.end(), chars.size() - first - 1, true);
  }
  std::vector<uint8_t> classes(chars.size());
  std::transform(chars.begin(), chars.end(), classes.begin(),
                 unicode::CombiningClass);
  for (size_t i = 0; i < chars.size();) {
    size_t end = i + 1;
    if (classes[i] != 0) {
      while (end < chars.size() && classes[end] != 0) ++end;
      if (end - i > 1) OrderMarks(i, end, &chars, &classes, &added);
    }
    i = end;
  }
  AlignedText out;
  out.origin.reserve(chars.size());
  size_t next = 0;
  for (size_t i = 0; i < chars.size(); ++i) {
    if (!added[i]) ++next;
    out.origin.push_back(text.origin[next == 0 ? 0 : next - 1]);
  }
  out.chars = std::move(chars);
  return out;
}

AlignedText WithoutAccents(const AlignedText& text) {
  const AlignedText decomposed = Decomposed(text);
  AlignedText out;
  for (size_t i = 0; i < decomposed.size(); ++i) {
    if (unicode::IsNonspacingMark(decomposed.chars[i])) continue;
    out.Append(decomposed.chars[i], decomposed.origin[i]);
  }
  return out;
}

AlignedText Lowercased(const AlignedText& text) {
  AlignedText out;
  for (size_t i = 0; i < text.size(); ++i) {
    unicode::AppendLowercase(text.chars[i], &out.chars);
    out.origin.resize(out.chars.size(), text.origin[i]);
  }
  return out;
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const PartSource& source)
      : clean_text_(BoolMember(source, "clean_text")),
        handle_chinese_chars_(BoolMember(source, "handle_chinese_chars")),
        lowercase_(BoolMember(source, "lowercase")) {
    const Json* strip = source.json.Find("strip_accents");
    strip_accents_ = strip == nullptr || strip->IsNull()
                         ? lowercase_
                         : strip->AsBool(source.where + ".strip_accents");
  }

  void Apply(AlignedText* text) const override {
    if (clean_text_) *text = Cleaned(*text);
    if (handle_chinese_chars_) *text = IdeographsApart(*text);
    if (strip_accents_) *text = WithoutAccents(*text);
    if (lowercase_) *text = Lowercased(*text);
  }

 private:
  bool clean_text_, handle_chinese_chars_, lowercase_, strip_accents_;
};

}  // namespace

std::unique_ptr<Normalizer> MakeBertNormalizer(const PartSource& source) {
  return std::make_unique<BertNormalizer>(source);
}

}  // namespace regard::inline v0
