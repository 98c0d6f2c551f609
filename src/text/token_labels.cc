#include <algorithm>

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

// The number of `token` among what its label stands for, from 1; 0 when the
// bare label is enough.
size_t NumberOf(size_t token, const TokenNames::Candidates& candidates,
                bool always) {
  const TokenRun run{static_cast<int64_t>(token), static_cast<int64_t>(token)};
  const bool unique = candidates.text.empty() ? candidates.labels.size() == 1
                                              : candidates.text.size() == 1;
  if (unique && candidates[0] == run && !always) return 0;
  size_t number = 0;
  while (candidates[number] != run) ++number;
  return number + 1;
}

}  // namespace

std::vector<std::string> TokenLabels(const Encoding& encoding) {
  const TokenNames names(encoding);
  const auto candidates = names.FindLabels();
  std::vector<std::string> labels;
  for (size_t i = 0; i < encoding.tokens.size(); ++i) {
    std::string label = names.BaseLabel(i);
    const auto it = candidates.find(names.Key(i));
    if (it != candidates.end()) {
      const size_t number = NumberOf(i, it->second, IsMisread(label));
      if (HasPrefix(label)) label.insert(0, kLiteralPrefix);
      if (number > 0) label += "#" + std::to_string(number);
    }
    labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace regard::inline v0
