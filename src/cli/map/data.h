// The maps that `regard map` shows or writes: chosen heads, averaged or not,
// with hidden tokens taken out.
#ifndef REGARD_SRC_CLI_MAP_DATA_H_
#define REGARD_SRC_CLI_MAP_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/lens.h"

namespace regard::inline v0 {

enum class Averaging { kNone, kHeads, kAll };

// The heads that one map stands for; more than one when it is an average.
struct MapGroup {
  HeadId head;  // an averaged layer or head is -1
  std::vector<HeadId> members;
};

// In (layer, head) order.
std::vector<MapGroup> GroupHeads(const std::vector<HeadId>& chosen,
                                 Averaging averaging);

// "L3H1", "layer 3, mean of 12 heads", "mean of 72 heads".
std::string GroupName(const MapGroup& group);

// The smallest layers x heads product that holds the chosen ones: arrays have
// rectangular axes.
std::vector<HeadId> RectangleAround(const std::vector<HeadId>& chosen);

struct ShownMap {
  MapGroup group;
  TensorView values;  // [n, n] f32, contiguous; rows and columns are MapData's
                      // tokens
  // Weight on hidden columns, mean over the rows shown, before renormalising.
  double hidden_mass = 0;
};

struct MapData {
  std::vector<int64_t> tokens;  // of each row and column, ascending
  std::vector<ShownMap> maps;   // views on the AttentionMaps or on `owned`
  std::vector<Tensor> owned;
};

// Tokens that are not in `tokens` lose their rows and their columns, and with
// `renormalize` the rows that remain sum to 1 again (a row that had all its
// weight on hidden columns stays 0). Averages are taken first.
MapData BuildMaps(const AttentionMaps& maps,
                  const std::vector<MapGroup>& groups,
                  std::vector<int64_t> tokens, bool renormalize);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MAP_DATA_H_
