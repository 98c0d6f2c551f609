#include "render/map_cells.h"

#include <cmath>

#include "base/checked.h"
#include "base/display_width.h"

namespace regard::inline v0 {

namespace {

[[noreturn]] void Refuse(const std::string& subject, const std::string& reason,
                         const std::string& hint) {
  throw Error(ErrorKind::kArgument, subject, reason, hint);
}

void CheckCount(const std::string& subject, size_t count, int64_t wanted) {
  if (count == 0 || static_cast<int64_t>(count) == wanted) return;
  Refuse(subject,
         std::to_string(count) + " given for " + std::to_string(wanted),
         "give one each, or none");
}

std::string Cells(int64_t count) {
  return std::to_string(count) + (count == 1 ? " cell " : " cells ");
}

}  // namespace

void CheckMark(const std::string& subject, const std::optional<Mark>& mark,
               int64_t count) {
  if (!mark) return;
  if (mark->first < 0 || mark->first >= count) {
    Refuse(
        subject,
        std::to_string(mark->first) + " is not below " + std::to_string(count),
        "positions count from 0");
  }
  if (mark->count < 1 || mark->count > count - mark->first) {
    Refuse(subject,
           std::to_string(mark->count) + " from " +
               std::to_string(mark->first) + " on are not within " +
               std::to_string(count),
           "give at least one, and no more than there are");
  }
}

Rgb MapCells::Color(size_t index, const ColorRange& range) const {
  switch (kinds[index]) {
    case CellKind::kHidden:
      return kHiddenColor;
    case CellKind::kNotANumber:
      return kNotANumberColor;
    case CellKind::kOutside:
      return kOutsideColor;
    case CellKind::kValue:
      break;
  }
  return range.ColorOf(static_cast<double>(values[index]));
}

MapCells ReadCells(const std::string& subject, const TensorView& values,
                   const TensorView& hidden,
                   const std::vector<bool>& outside_range) {
  if (values.rank() != 2 || values.NumElements() == 0) {
    Refuse(subject + ": values",
           "shape " + ToString(values.shape) + " is no matrix with cells",
           "give [rows, columns], both at least 1");
  }
  if (hidden.given() &&
      (hidden.shape != values.shape || hidden.dtype != DType::kBool)) {
    Refuse(subject + ": hidden",
           std::string(Name(hidden.dtype)) + " " + ToString(hidden.shape) +
               " beside values " + ToString(values.shape),
           "give bool of the same shape, true where a cell is hidden");
  }
  MapCells cells;
  cells.rows = values.shape[0];
  cells.columns = values.shape[1];
  CheckCount(subject + ": outside_range", outside_range.size(), cells.columns);
  const Tensor copy = Converted(values, DType::kF32);
  cells.values.assign(copy.As<float>(), copy.As<float>() + copy.NumElements());
  cells.kinds.assign(cells.values.size(), CellKind::kValue);
  for (int64_t i = 0; i < cells.rows; ++i) {
    for (int64_t j = 0; j < cells.columns; ++j) {
      const size_t index = cells.Index(i, j);
      if (hidden.given() &&
          static_cast<const uint8_t*>(
              hidden.data)[i * hidden.strides[0] + j * hidden.strides[1]]) {
        cells.kinds[index] = CellKind::kHidden;
      } else if (std::isnan(cells.values[index])) {
        cells.kinds[index] = CellKind::kNotANumber;
      } else if (!outside_range.empty() &&
                 outside_range[static_cast<size_t>(j)]) {
        cells.kinds[index] = CellKind::kOutside;
      }
    }
  }
  return cells;
}

MapCells ReadCells(const HeatMap& map) {
  MapCells cells =
      ReadCells("heat map", map.values, map.hidden, map.outside_range);
  CheckCount("heat map: row_labels", map.row_labels.size(), cells.rows);
  CheckCount("heat map: column_labels", map.column_labels.size(),
             cells.columns);
  CheckCount("heat map: positions", map.positions.size(), cells.rows);
  CheckCount("heat map: positions", map.positions.size(), cells.columns);
  CheckCount("heat map: grey_rows", map.grey_rows.size(), cells.rows);
  CheckCount("heat map: grey_columns", map.grey_columns.size(), cells.columns);
  CheckMark("heat map: marked_rows", map.marked_rows, cells.rows);
  CheckMark("heat map: marked_columns", map.marked_columns, cells.columns);
  return cells;
}

void CellCounts::Add(const MapCells& cells, const ColorRange& range) {
  for (size_t i = 0; i < cells.kinds.size(); ++i) {
    switch (cells.kinds[i]) {
      case CellKind::kHidden:
        ++hidden;
        break;
      case CellKind::kNotANumber:
        ++not_a_number;
        break;
      case CellKind::kOutside:
        ++outside;
        break;
      case CellKind::kValue:
        below += static_cast<double>(cells.values[i]) < range.low();
        above += static_cast<double>(cells.values[i]) > range.high();
        break;
    }
  }
}

std::vector<std::string> RangeRemarks(const CellCounts& counts,
                                      const ColorRange& range) {
  std::vector<std::string> remarks;
  const auto remark = [&](int64_t count, const char* side, double end) {
    if (count == 0) return;
    const std::string number = ShortNumber(end);
    remarks.push_back(Cells(count) + side + " " + number +
                      (count == 1 ? " has" : " have") + " the colour of " +
                      number + ".");
  };
  remark(counts.above, "above", range.high());
  remark(counts.below, "below", range.low());
  return remarks;
}

std::vector<std::string> ShownLabels(const std::vector<std::string>& labels,
                                     int64_t count) {
  std::vector<std::string> shown;
  shown.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    shown.push_back(labels.empty() ? std::to_string(i)
                                   : WithLeftToRightEnd(VisibleText(
                                         labels[static_cast<size_t>(i)])));
  }
  return shown;
}

}  // namespace regard::inline v0
