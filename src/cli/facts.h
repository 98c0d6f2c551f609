// A list of named values that prints as an aligned text or as JSON.
#ifndef REGARD_SRC_CLI_FACTS_H_
#define REGARD_SRC_CLI_FACTS_H_

#include <string>
#include <vector>

#include "cli/command.h"
#include "io/json.h"

namespace regard::inline v0 {

class Facts {
 public:
  // `text`: what people read for `value`; left out where it says nothing more.
  void Add(std::string key, Json value, std::string text);
  void Add(std::string key, const std::string& value);
  void Add(std::string key, int64_t value);
  // Only in JSON.
  void AddJson(std::string key, Json value);

  void Print(Context& context) const;

 private:
  struct Fact {
    std::string key;
    Json value;
    std::string text;
    bool in_text;
  };
  std::vector<Fact> facts_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_FACTS_H_
