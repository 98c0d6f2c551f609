// A BERT of a few kilobytes for tests of the program: 2 layers x 2 heads,
// hidden 8, 16 positions, a vocabulary of a dozen words.
#ifndef REGARD_TESTS_SYSTEM_TINY_MODEL_H_
#define REGARD_TESTS_SYSTEM_TINY_MODEL_H_

#include <functional>
#include <map>
#include <string>

#include "regard/tensor.h"

namespace regard::inline v0 {

using NamedTensors = std::map<std::string, Tensor>;

// Writes config.json, tokenizer.json and model.safetensors into `directory`,
// which is made. `change` may alter the tensors before.
void WriteTinyModel(const std::string& directory,
                    const std::function<void(NamedTensors&)>& change = {});

// Replaces the first `old_text` in a file; a test failure when it isn't there.
void ReplaceInFile(const std::string& path, const std::string& old_text,
                   const std::string& new_text);

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SYSTEM_TINY_MODEL_H_
