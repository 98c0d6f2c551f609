// Where the items of a scene lie, for the tests of this folder.
#ifndef REGARD_SRC_RENDER_TEST_SCENE_H_
#define REGARD_SRC_RENDER_TEST_SCENE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <variant>

#include "render/scene.h"
#include "render/text_metrics.h"

namespace regard::inline v0 {

struct Box {
  double left, top, right, bottom;
};

inline Box Bounds(const TextItem& text) {
  const double width =
      EstimatedWidth(text.text, text.size) * (text.bold ? kBoldWidening : 1);
  const double share = text.anchor == TextItem::Anchor::kStart    ? 0
                       : text.anchor == TextItem::Anchor::kMiddle ? 0.5
                                                                  : 1;
  const double turn = text.angle * std::numbers::pi / 180;
  Box box = {text.x, text.y, text.x, text.y};
  for (const double along : {-share * width, (1 - share) * width}) {
    for (const double up : {0.0, 0.75 * text.size}) {
      const double x = text.x + along * std::cos(turn) + up * std::sin(turn);
      const double y = text.y + along * std::sin(turn) - up * std::cos(turn);
      box = {std::min(box.left, x), std::min(box.top, y),
             std::max(box.right, x), std::max(box.bottom, y)};
    }
  }
  return box;
}

inline Box Bounds(const RectItem& rect) {
  return {rect.x, rect.y, rect.x + rect.width, rect.y + rect.height};
}

inline Box Bounds(const LineItem& line) {
  return {std::min(line.x1, line.x2), std::min(line.y1, line.y2),
          std::max(line.x1, line.x2), std::max(line.y1, line.y2)};
}

inline Box Bounds(const CellsItem& cells) {
  return {cells.x, cells.y,
          cells.x + cells.cell_width * static_cast<double>(cells.columns),
          cells.y + cells.cell_height * static_cast<double>(cells.rows)};
}

inline void ExpectAllInside(const Scene& scene) {
  for (const SceneItem& item : scene.items) {
    const Box box =
        std::visit([](const auto& shape) { return Bounds(shape); }, item);
    const auto* text = std::get_if<TextItem>(&item);
    const std::string what = text ? text->text : "a shape";
    EXPECT_GE(box.left, 0) << what;
    EXPECT_GE(box.top, 0) << what;
    EXPECT_LE(box.right, scene.width) << what;
    EXPECT_LE(box.bottom, scene.height) << what;
  }
}

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_TEST_SCENE_H_
