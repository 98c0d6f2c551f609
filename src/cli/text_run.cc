#include "cli/text_run.h"

namespace regard::inline v0 {

AttentionMaps RunModel(const LoadedModel& loaded, const Encoding& encoding,
                       bool value_norms, Context& context) {
  AttentionMaps maps(value_norms, context.common.threads);
  ForwardOptions options;
  options.observer = &maps;
  options.threads = context.common.threads;
  loaded.model->Forward(encoding, options);
  NoteNonFiniteWeights(*loaded.model, context.console);
  return maps;
}

std::vector<bool> OrdinaryTokens(const Encoding& encoding) {
  std::vector<bool> ordinary;
  for (const Token& token : encoding.tokens) {
    ordinary.push_back(!token.special);
  }
  return ordinary;
}

}  // namespace regard::inline v0
