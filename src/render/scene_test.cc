#include "render/scene.h"

#include <gtest/gtest.h>

#include <cmath>

#include "render/colormap.h"
#include "render/scene_parts.h"
#include "render/test_maps.h"
#include "render/test_scene.h"

namespace regard::inline v0 {
namespace {

HeatMapStyle FullStyle() {
  HeatMapStyle style;
  style.title = "A title of a picture that is so long that it needs two lines";
  style.note = std::string(300, 'n') + " and more words after the long one";
  style.numbers = true;
  style.value_name = "";  // slanted labels reach beyond the bare bar
  return style;
}

TEST(SceneTest, EverythingLiesInsideThePicture) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                      {1, 16},
                                      {16, 1},
                                      {3, 3},
                                      {16, 16},
                                      {60, 60},
                                      {76, 76},
                                      {300, 20}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const Tensor weights = TestWeights(rows, columns);
    HeatMap map{.values = weights,
                .marked_rows = Mark{rows - 1},
                .marked_columns = Mark{columns - 1}};
    ExpectAllInside(HeatMapScene(map, FullStyle()));
    for (int64_t i = 0; i < rows; ++i) {
      map.row_labels.push_back(HostileLabels()[static_cast<size_t>(i) % 16]);
    }
    map.column_labels.assign(static_cast<size_t>(columns),
                             "Donaudampfschifffahrtsgesellschaft");
    ExpectAllInside(HeatMapScene(map, FullStyle()));
  }
}

TEST(SceneTest, CellsAreSquareAndOnWholePixels) {
  for (const int64_t size : {1, 3, 16, 60, 70, 512, 4096}) {
    const Tensor weights(DType::kF32, {1, size});
    const Scene scene = HeatMapScene({.values = weights}, {});
    for (const SceneItem& item : scene.items) {
      const auto* cells = std::get_if<CellsItem>(&item);
      if (cells == nullptr || cells->columns != size || size == 1) continue;
      EXPECT_EQ(cells->cell_width, cells->cell_height);
      for (const double length : {cells->cell_width, cells->x, cells->y}) {
        const double pixels = length * 300 / 72;
        EXPECT_NEAR(pixels, std::round(pixels), 1e-6) << size;
      }
      EXPECT_GE(cells->cell_width, 0.24 - 1e-9);
    }
  }
}

TEST(SceneTest, LabelsOfNeighboursDoNotTouch) {
  for (const int64_t size : {6, 16, 40, 60, 75, 76, 200, 512}) {
    const Tensor weights = TestWeights(size, size);
    const HeatMap map{
        .values = weights,
        .row_labels = std::vector<std::string>(static_cast<size_t>(size), "w")};
    const Scene scene = HeatMapScene(map, {});
    const TextItem* previous = nullptr;
    int labels = 0;
    for (const SceneItem& item : scene.items) {
      const auto* text = std::get_if<TextItem>(&item);
      if (text == nullptr || !text->text.ends_with("w")) continue;
      if (previous != nullptr) {
        EXPECT_GE(text->y - previous->y, 1.1 * text->size) << size;
      }
      previous = text;
      ++labels;
    }
    EXPECT_GE(labels, 6) << size;
  }
}

std::vector<RectItem> Marks(const Scene& scene) {
  std::vector<RectItem> marks;
  for (const SceneItem& item : scene.items) {
    const auto* rect = std::get_if<RectItem>(&item);
    if (rect != nullptr && rect->stroke == kMarkColor) marks.push_back(*rect);
  }
  return marks;
}

TEST(SceneTest, MarksFrameTheirRowsAndColumns) {
  const Tensor weights = TestWeights(16, 12);
  const Scene scene = HeatMapScene(
      {.values = weights, .marked_rows = Mark{3, 2}, .marked_columns = Mark{7}},
      {});
  const CellsItem* cells = nullptr;
  for (const SceneItem& item : scene.items) {
    if (cells == nullptr) cells = std::get_if<CellsItem>(&item);
  }
  ASSERT_NE(cells, nullptr);
  const double size = cells->cell_width;
  const std::vector<RectItem> marks = Marks(scene);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_NEAR(marks[0].x, cells->x, 1e-9);
  EXPECT_NEAR(marks[0].y, cells->y + 3 * size, 1e-9);
  EXPECT_NEAR(marks[0].width, 12 * size, 1e-9);
  EXPECT_NEAR(marks[0].height, 2 * size, 1e-9);
  EXPECT_NEAR(marks[1].x, cells->x + 7 * size, 1e-9);
  EXPECT_NEAR(marks[1].y, cells->y, 1e-9);
  EXPECT_NEAR(marks[1].width, size, 1e-9);
  EXPECT_NEAR(marks[1].height, 16 * size, 1e-9);
}

TEST(SceneTest, EveryMapOfAGridIsMarked) {
  const Tensor weights = TestWeights(16, 16);
  MapGrid grid{.maps = {weights, weights, weights},
               .columns = 2,
               .marked_rows = Mark{15}};
  const Scene scene = GridScene(grid, {});
  ExpectAllInside(scene);
  const std::vector<RectItem> marks = Marks(scene);
  ASSERT_EQ(marks.size(), 3u);
  EXPECT_EQ(marks[0].y, marks[1].y);
  EXPECT_EQ(marks[0].x, marks[2].x);
  EXPECT_LT(marks[0].x + marks[0].width, marks[1].x);
  EXPECT_LT(marks[0].y + marks[0].height, marks[2].y);
  grid.marked_columns = Mark{16};
  EXPECT_THROW(GridScene(grid, {}), Error);
}

TEST(SceneTest, GridMapsStandInTheirPlacesWithTheirColours) {
  const auto value = [](int m, int64_t i, int64_t j) {
    return static_cast<float>(6 * m + 3 * i + j) / 32;
  };
  std::vector<Tensor> tensors;
  MapGrid grid{.columns = 2};
  for (int m = 0; m < 5; ++m) {
    std::vector<float> values;
    for (int64_t c = 0; c < 6; ++c) values.push_back(value(m, c / 3, c % 3));
    tensors.push_back(Tensor::FromVector(values, {2, 3}));
    grid.titles.push_back(std::to_string(m));
  }
  for (const Tensor& tensor : tensors) grid.maps.push_back(tensor);
  const Scene scene = GridScene(grid, {});
  ExpectAllInside(scene);
  const CellsItem* all = nullptr;
  int frames = 0;
  for (const SceneItem& item : scene.items) {
    if (all == nullptr) all = std::get_if<CellsItem>(&item);
    const auto* frame = std::get_if<RectItem>(&item);
    if (frame == nullptr || frame->hover.empty()) continue;
    const int m = std::stoi(frame->hover);
    EXPECT_EQ(m, frames++);
    const auto cell = [](double points, double size) {
      return std::lround(points / size);
    };
    const int64_t row = cell(frame->y - all->y, all->cell_height);
    const int64_t column = cell(frame->x - all->x, all->cell_width);
    EXPECT_EQ(row > 0, m >= 2);
    EXPECT_EQ(column > 0, m % 2 == 1);
    EXPECT_EQ(cell(frame->width, all->cell_width), 3);
    EXPECT_EQ(cell(frame->height, all->cell_height), 2);
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        EXPECT_EQ(all->colors[all->Index(row + i, column + j)],
                  ColorOf({}, static_cast<double>(value(m, i, j))));
      }
    }
  }
  EXPECT_EQ(frames, 5);
}

}  // namespace
}  // namespace regard::inline v0
