#include "regard/tokenizer.h"
#include "text/token_names.h"

namespace regard::inline v0 {

namespace {

// Whether FindSpan would read the label as something else than a plain name.
bool IsMisread(const std::string& label) {
  return SplitNumber(label).number != 0 || ParseIndexes(label).has_value();
}

bool HasPrefix(const std::string& label) {
  return label.starts_with(kSecondSentencePrefix) ||
         label.starts_with(kLiteralPrefix);
}

// Per token, its number among what its bare label stands for, from 1; 0 when
// nothing can be found by that label.
struct LabelNumbers {
  std::vector<size_t> number;
  std::vector<bool> unique;  // the bare label is enough
};

LabelNumbers NumberLabels(const TokenNames& names) {
  const size_t tokens = names.encoding().tokens.size();
  LabelNumbers out{std::vector<size_t>(tokens), std::vector<bool>(tokens)};
  for (const auto& [key, candidates] : names.FindLabels()) {
    const size_t found = candidates.text.empty() ? candidates.labels.size()
                                                 : candidates.text.size();
    for (size_t i = 0; i < candidates.size(); ++i) {
      const TokenRun& run = candidates[i];
      if (run.first != run.last || names.Key(run.first) != key) continue;
      out.number[run.first] = i + 1;
      out.unique[run.first] = found == 1 && i == 0;
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> TokenLabels(const Encoding& encoding) {
  const TokenNames names(encoding);
  const LabelNumbers numbers = NumberLabels(names);
  std::vector<std::string> labels;
  for (size_t i = 0; i < encoding.tokens.size(); ++i) {
    std::string label = names.BaseLabel(i);
    const bool numbered = !numbers.unique[i] || IsMisread(label);
    if (HasPrefix(label)) label.insert(0, kLiteralPrefix);
    if (numbers.number[i] != 0 && numbered) {
      label += "#" + std::to_string(numbers.number[i]);
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace regard::inline v0
