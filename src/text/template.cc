#include "text/template.h"

#include <iterator>

namespace regard::inline v0 {

int64_t Template::AddedTokens(bool pair) const {
  int64_t count = 0;
  for (const TemplateItem& item : pair ? pair_ : single_) {
    count += static_cast<int64_t>(item.tokens.size());
  }
  return count;
}

std::vector<std::pair<std::string, int64_t>> Template::SpecialTokens() const {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const TemplateItems* items : {&single_, &pair_}) {
    for (const TemplateItem& item : *items) {
      out.insert(out.end(), item.tokens.begin(), item.tokens.end());
    }
  }
  return out;
}

std::vector<Token> Template::Join(std::vector<std::vector<Token>> sentences,
                                  bool add_special_tokens) const {
  std::vector<Token> out;
  for (const TemplateItem& item : sentences.size() > 1 ? pair_ : single_) {
    if (item.sentence != TemplateItem::kInserted) {
      std::vector<Token>& tokens = sentences[item.sentence];
      for (Token& token : tokens) token.segment = item.segment;
      std::move(tokens.begin(), tokens.end(), std::back_inserter(out));
    } else if (add_special_tokens) {
      for (const auto& [piece, id] : item.tokens) {
        Token token;
        token.id = id;
        token.piece = piece;
        token.segment = item.segment;
        token.special = true;
        out.push_back(std::move(token));
      }
    }
  }
  return out;
}

std::unique_ptr<PostProcessor> MakePlainJoin() {
  const TemplateItem first{0, 0, {}}, second{1, 1, {}};
  return std::make_unique<Template>(TemplateItems{first},
                                    TemplateItems{first, second});
}

}  // namespace regard::inline v0
