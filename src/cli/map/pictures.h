// Maps as pictures: in the terminal, svg and png.
#ifndef REGARD_SRC_CLI_MAP_PICTURES_H_
#define REGARD_SRC_CLI_MAP_PICTURES_H_

#include <string>

#include "cli/map/options.h"

namespace regard::inline v0 {

// The whole text of `regard map` in the terminal.
std::string MapText(const MapRequest& request, const LoadedModel& loaded,
                    const AttentionMaps& maps, const Console& console);

// The bytes of a picture: one labelled map, or a grid of unlabelled ones on one
// scale when several heads were chosen.
std::string MapPicture(const MapRequest& request, const LoadedModel& loaded,
                       const MapData& data, const Json& meta);

// A map with its labels, marks and range, as `regard map` draws it.
struct DrawnMap {
  HeatMap map;
  HeatMapStyle style;
};
DrawnMap DrawMap(const MapRequest& request, const std::string& model_name,
                 const MapData& data, const ShownMap& shown);

// The meta of a map as pictures carry it.
Provenance ProvenanceOf(const Json& meta);

// "63 %"; "0.4 %" below 1.
std::string PercentText(double share);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_CLI_MAP_PICTURES_H_
