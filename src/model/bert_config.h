// What config.json says about a BERT.
#ifndef REGARD_SRC_MODEL_BERT_CONFIG_H_
#define REGARD_SRC_MODEL_BERT_CONFIG_H_

#include <cstdint>

#include "model/checkpoint.h"

namespace regard::inline v0 {

struct BertConfig {
  int64_t hidden = 0, layers = 0, heads = 0, intermediate = 0;
  int64_t vocabulary = 0, positions = 0, segments = 0;
  double eps = 0;  // of the layer norms
};

// Error (kFormat) for a value that can't be, (kUnsupported) naming a setting
// that this version can't compute.
BertConfig ReadBertConfig(const Config& config);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_MODEL_BERT_CONFIG_H_
