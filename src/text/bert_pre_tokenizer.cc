// BertPreTokenizer: words between whitespace, each punctuation mark alone.
#include "text/parts.h"
#include "text/reference_unicode.h"

namespace regard::inline v0 {

namespace {

class BertPreTokenizer : public PreTokenizer {
 public:
  void Apply(AlignedText* text, std::vector<CharRange>* words) const override {
    std::vector<CharRange> out;
    for (const CharRange& word : *words) Split(*text, word, &out);
    *words = std::move(out);
  }

 private:
  static void Split(const AlignedText& text, CharRange range,
                    std::vector<CharRange>* out) {
    size_t begin = range.begin;
    const auto close = [&](size_t end) {
      if (begin < end) out->push_back({begin, end});
    };
    for (size_t i = range.begin; i < range.end; ++i) {
      const char32_t c = text.chars[i];
      const bool space = reference_unicode::IsWhitespace(c);
      if (!space && !reference_unicode::IsPunctuation(c)) continue;
      close(i);
      if (!space) out->push_back({i, i + 1});
      begin = i + 1;
    }
    close(range.end);
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> MakeBertPreTokenizer(const PartSource&) {
  return std::make_unique<BertPreTokenizer>();
}

}  // namespace regard::inline v0
