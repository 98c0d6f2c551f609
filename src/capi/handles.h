// What stands behind the opaque handles of the C interface.
#ifndef REGARD_SRC_CAPI_HANDLES_H_
#define REGARD_SRC_CAPI_HANDLES_H_

#include <string>

#include "regard/attention.h"
#include "regard/kv_cache.h"
#include "regard/regard_c.h"

struct regard_mask {
  regard::Mask value;
};

struct regard_problem {
  regard::AttentionProblem value;
};

struct regard_options {
  regard::AttentionOptions value;
};

struct regard_plan {
  regard::AttentionPlan value;
  std::string kernel, description;
};

struct regard_kv_cache {
  regard::KvCache value;
};

namespace regard::inline v0 {

// The defaults for NULL.
inline AttentionOptions OptionsOf(const regard_options* options) {
  return options == nullptr ? AttentionOptions() : options->value;
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CAPI_HANDLES_H_
