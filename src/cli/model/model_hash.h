// What the bytes of a model are, without reading all of them each time.
#ifndef REGARD_SRC_CLI_MODEL_MODEL_HASH_H_
#define REGARD_SRC_CLI_MODEL_MODEL_HASH_H_

#include <string>

namespace regard::inline v0 {

// SHA-256 of a file. Remembered in the user's cache by path, size, times, and
// inode, since hashing a model takes longer than using it; `verify` computes it
// anew. A cache that can't be written is no error. Error (kFile).
std::string FileSha256(const std::string& path, bool verify = false);

// The same of a checkpoint: of its one file, or, for the index of shards, of
// the lines "SHA256  NAME\n" of the index and its shards in order of name (what
// sha256sum prints and hashes).
std::string WeightsSha256(const std::string& weights_path, bool verify = false);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MODEL_MODEL_HASH_H_
