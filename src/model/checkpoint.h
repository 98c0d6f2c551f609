// A model directory: its config.json, and its tensors.
#ifndef REGARD_SRC_MODEL_CHECKPOINT_H_
#define REGARD_SRC_MODEL_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "io/json.h"
#include "regard/io.h"

namespace regard::inline v0 {

// config.json, whose every message names file and key.
class Config {
 public:
  // Error (kFile, kFormat).
  static Config Read(const std::string& path);

  const std::string& path() const { return path_; }
  // "config.json: hidden_size", for messages.
  std::string Where(const std::string& key) const;
  // A count from `least` to 2^31 - 1: products of two always fit 64 bits. Error
  // (kFormat) when it is missing (without `fallback`) or something else.
  int64_t Count(const std::string& key, int64_t least = 1,
                std::optional<int64_t> fallback = std::nullopt) const;
  double Number(const std::string& key, double fallback) const;
  bool Flag(const std::string& key, bool fallback) const;
  // Missing or null: `fallback`.
  std::string Text(const std::string& key, const std::string& fallback) const;

 private:
  // nullptr when missing or null.
  const Json* Find(const std::string& key) const;

  std::string path_;
  Json root_;
};

struct Checkpoint {
  // Opens config.json and model.safetensors, or the index of its shards. Error
  // (kFile) naming what is missing, (kFormat).
  static Checkpoint Open(const std::string& directory);

  Config config;
  std::string weights_path;
  SafeTensors tensors;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_MODEL_CHECKPOINT_H_
