// The tokeniser parts that this version knows, each in one list.
#ifndef REGARD_SRC_TEXT_PART_LIST_H_
#define REGARD_SRC_TEXT_PART_LIST_H_

#include <memory>
#include <string>

#include "text/parts.h"

namespace regard::inline v0 {

// What tokenizer.json puts together; `normalizer` and `pre_tokenizer` are null
// where it has none.
struct TokenizerParts {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<PostProcessor> post_processor;
  // "BertNormalizer, BertPreTokenizer, WordPiece, TemplateProcessing"
  std::string description;
};

// `name` stands in messages. Error (kFormat), or (kUnsupported) naming a part
// that is in no list.
TokenizerParts MakeParts(const Json& json, const std::string& name);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_PART_LIST_H_
