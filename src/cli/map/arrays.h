// Maps as numbers: npz, csv and json.
#ifndef REGARD_SRC_CLI_MAP_ARRAYS_H_
#define REGARD_SRC_CLI_MAP_ARRAYS_H_

#include <string>

#include "cli/map/options.h"

namespace regard::inline v0 {

// Members: attention f32 [layers, heads, queries, keys]; layers, heads i64
// (-1: averaged); tokens (raw pieces); ids i64; index i64 [n, 2] (first and
// last token of each row); offsets i64 [n, 2] (code points of its own
// sentence); segments i64; special bool; meta, a JSON string.
void WriteMapNpz(const std::string& path, const MapRequest& request,
                 const MapData& data, const Json& meta);

// layer, head, query, query_token, key, key_token, weight: one row per cell.
void WriteMapCsv(const std::string& path, const MapRequest& request,
                 const MapData& data, const Console& console);

// The members of the npz, `meta` as an object, and `nonfinite`: how many
// weights are written as null. One line.
std::string MapJson(const MapRequest& request, const MapData& data,
                    const Json& meta);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MAP_ARRAYS_H_
