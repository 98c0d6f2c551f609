#include "cli/facts.h"

#include <algorithm>
#include <utility>

#include "base/display_width.h"
#include "cli/text_layout.h"

namespace regard::inline v0 {

namespace {

// "instruction_sets" is printed as "instruction sets".
std::string Label(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

}  // namespace

void Facts::Add(std::string key, Json value, std::string text) {
  facts_.push_back({std::move(key), std::move(value), std::move(text), true});
}

void Facts::Add(std::string key, const std::string& value) {
  Add(std::move(key), value, value);
}

void Facts::Add(std::string key, int64_t value) {
  Add(std::move(key), value, WithCommas(value));
}

void Facts::AddJson(std::string key, Json value) {
  facts_.push_back({std::move(key), std::move(value), "", false});
}

void Facts::Print(Context& context) const {
  if (context.common.json) {
    Json object;
    for (const Fact& fact : facts_) object.Set(fact.key, fact.value);
    context.console.PrintJson(object);
    return;
  }
  int columns = 0;
  for (const Fact& fact : facts_) {
    if (fact.in_text) {
      columns = std::max(columns, DisplayWidth(Label(fact.key)));
    }
  }
  constexpr int kGap = 2;
  for (const Fact& fact : facts_) {
    if (!fact.in_text) continue;
    const int indent = columns + kGap;
    context.console.Print(
        PadRight(Label(fact.key), indent) +
        Wrapped(VisibleText(fact.text), context.console.width(), indent) +
        "\n");
  }
}

}  // namespace regard::inline v0
