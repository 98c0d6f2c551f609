// Horizontal bars in groups, each with a tick for what it should reach.
#ifndef REGARD_SRC_RENDER_BAR_CHART_H_
#define REGARD_SRC_RENDER_BAR_CHART_H_

#include <optional>
#include <string>
#include <vector>

#include "render/scene.h"

namespace regard::inline v0 {

struct ChartBar {
  enum class Kind { kPlain, kGood, kBad };

  std::string label = {};
  double value = 0;  // a share; at most twice the whole is drawn
  Kind kind = Kind::kPlain;
  std::optional<double> tick = {};
  std::string remark = {};  // behind the value
};

struct ChartGroup {
  std::string title;
  std::vector<ChartBar> bars;
};

struct BarChart {
  std::string title, note;
  std::string axis;                    // what the bars measure
  std::string good, bad, plain, tick;  // names in the legend
  std::vector<ChartGroup> groups;
};

// The axis reaches from 0 to the whole, or further where a bar does.
Scene BarChartScene(const BarChart& chart);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_BAR_CHART_H_
