// A map as every picture needs it: checked, contiguous, each cell with its
// meaning.
#ifndef REGARD_SRC_RENDER_MAP_CELLS_H_
#define REGARD_SRC_RENDER_MAP_CELLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/render.h"
#include "render/colormap.h"

namespace regard::inline v0 {

enum class CellKind : uint8_t {
  kValue,
  kHidden,      // by a mask, whatever its value
  kNotANumber,  // visible, but NaN
  kOutside,     // of a column that takes no part in the colour range
};

struct MapCells {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;    // row by row
  std::vector<CellKind> kinds;  // likewise

  size_t Index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * columns + column);
  }
  Rgb Color(size_t index, const ColorRange& range) const;
};

// Error (kArgument) naming `subject` when `values` is no matrix with cells or
// something else has another shape.
MapCells ReadCells(const std::string& subject, const TensorView& values,
                   const TensorView& hidden,
                   const std::vector<bool>& outside_range);

// The same with the labels and marks of a heat map checked too.
MapCells ReadCells(const HeatMap& map);

// Error (kArgument) for marks outside the `count` rows or columns.
void CheckMark(const std::string& subject, const std::optional<Mark>& mark,
               int64_t count);

// What a reader must be told beside the colours.
struct CellCounts {
  int64_t hidden = 0, not_a_number = 0, outside = 0;
  int64_t below = 0, above = 0;  // kValue cells outside the range

  void Add(const MapCells& cells, const ColorRange& range);
};

// One sentence a line: "3 cells above 0.4 have the colour of 0.4." Only what
// there is to say; what has a swatch in the legend is not repeated.
std::vector<std::string> RangeRemarks(const CellCounts& counts,
                                      const ColorRange& range);

// Labels as they can be shown; positions where there are none.
std::vector<std::string> ShownLabels(const std::vector<std::string>& labels,
                                     int64_t count);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_MAP_CELLS_H_
