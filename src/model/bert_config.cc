#include "model/bert_config.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace regard::inline v0 {

namespace {

void RequireText(const Config& config, const std::string& key,
                 const std::string& only) {
  const std::string value = config.Text(key, only);
  if (value == only) return;
  throw Error(ErrorKind::kUnsupported, config.Where(key),
              fmt::format("\"{}\" is not supported", value),
              fmt::format("this version computes \"{}\" only", only));
}

void RequireOff(const Config& config, const std::string& key) {
  if (!config.Flag(key, false)) return;
  throw Error(ErrorKind::kUnsupported, config.Where(key),
              "true is not supported", "this version reads BERT encoders only");
}

double LayerNormEps(const Config& config) {
  const double eps = config.Number("layer_norm_eps", 1e-12);
  if (eps >= 0 && std::isfinite(eps)) return eps;
  throw Error(ErrorKind::kFormat, config.Where("layer_norm_eps"),
              fmt::format("is {}, but has to be finite and not negative", eps));
}

}  // namespace

BertConfig ReadBertConfig(const Config& config) {
  RequireText(config, "hidden_act", "gelu");
  RequireText(config, "position_embedding_type", "absolute");
  RequireOff(config, "is_decoder");
  RequireOff(config, "add_cross_attention");
  const BertConfig bert = {.hidden = config.Count("hidden_size"),
                           .layers = config.Count("num_hidden_layers"),
                           .heads = config.Count("num_attention_heads"),
                           .intermediate = config.Count("intermediate_size"),
                           .vocabulary = config.Count("vocab_size"),
                           .positions = config.Count("max_position_embeddings"),
                           .segments = config.Count("type_vocab_size", 1, 2),
                           .eps = LayerNormEps(config)};
  if (bert.hidden % bert.heads != 0) {
    throw Error(ErrorKind::kFormat, config.Where("num_attention_heads"),
                fmt::format("is {}, which does not divide hidden_size = {}",
                            bert.heads, bert.hidden));
  }
  return bert;
}

}  // namespace regard::inline v0
