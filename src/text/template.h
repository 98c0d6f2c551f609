// The post-processor that all templates share: a list of inserted tokens and
// sentences, for one sentence and for two.
#ifndef REGARD_SRC_TEXT_TEMPLATE_H_
#define REGARD_SRC_TEXT_TEMPLATE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/parts.h"

namespace regard::inline v0 {

struct TemplateItem {
  // The sentence to put here (0 or 1), or kInserted for the tokens below.
  static constexpr int kInserted = -1;
  int sentence = kInserted;
  int segment = 0;
  std::vector<std::pair<std::string, int64_t>> tokens;  // piece and id
};

using TemplateItems = std::vector<TemplateItem>;

class Template : public PostProcessor {
 public:
  // `single` holds the first sentence once, `pair` both once.
  Template(TemplateItems single, TemplateItems pair)
      : single_(std::move(single)), pair_(std::move(pair)) {}

  int64_t AddedTokens(bool pair) const override;
  std::vector<std::pair<std::string, int64_t>> SpecialTokens() const override;
  std::vector<Token> Join(std::vector<std::vector<Token>> sentences,
                          bool add_special_tokens) const override;

 private:
  TemplateItems single_, pair_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_TEMPLATE_H_
