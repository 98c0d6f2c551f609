#include "base/parallel_for.h"
#include "capi/boundary.h"
#include "capi/handles.h"

namespace {

using regard::Guard;
using regard::Required;

}  // namespace

regard_status regard_options_create(regard_options** options) {
  return Guard("regard_options_create",
               [&] { regard::Create(options, "options"); });
}

void regard_options_destroy(regard_options* options) { delete options; }

regard_status regard_options_set_threads(regard_options* options,
                                         int32_t threads) {
  return Guard("regard_options_set_threads", [&] {
    regard::AttentionOptions& value = Required(options, "options").value;
    regard::CheckThreads(threads, "threads");
    value.threads = threads;
  });
}

regard_status regard_options_set_kernel(regard_options* options,
                                        const char* kernel) {
  return Guard("regard_options_set_kernel", [&] {
    Required(options, "options").value.kernel = kernel == nullptr ? "" : kernel;
  });
}

regard_status regard_options_set_instruction_set(regard_options* options,
                                                 const char* instruction_set) {
  return Guard("regard_options_set_instruction_set", [&] {
    Required(options, "options").value.instruction_set =
        instruction_set == nullptr ? "" : instruction_set;
  });
}
