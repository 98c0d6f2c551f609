// The three things that `regard info` can be about.
#ifndef REGARD_SRC_CLI_INFO_INFO_H_
#define REGARD_SRC_CLI_INFO_INFO_H_

#include <string>

#include "cli/command.h"
#include "cli/model/find_model.h"

namespace regard::inline v0 {

void PrintMachineInfo(Context& context);
// `verify`: compute the hash anew.
void PrintModelInfo(const ModelLocation& location, bool verify,
                    Context& context);
// A .safetensors file or the index of shards, .npy or .npz.
void PrintFileInfo(const std::string& path, bool verify, Context& context);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_INFO_INFO_H_
