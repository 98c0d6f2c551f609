// What a model makes of a text: the step that map, rank and the demo share.
#ifndef REGARD_SRC_CLI_TEXT_RUN_H_
#define REGARD_SRC_CLI_TEXT_RUN_H_

#include <vector>

#include "cli/command.h"
#include "cli/model/load_model.h"
#include "regard/lens.h"
#include "regard/tokenizer.h"

namespace regard::inline v0 {

// All attention weights of the text. Weights of the model that are not finite
// are named in a note.
AttentionMaps RunModel(const LoadedModel& loaded, const Encoding& encoding,
                       bool value_norms, Context& context);

// One flag per token: true for those of the text itself, false for what the
// template inserted.
std::vector<bool> OrdinaryTokens(const Encoding& encoding);

inline TokenRange RangeOf(const TokenSpan& span) {
  return {span.first, span.last};
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_TEXT_RUN_H_
