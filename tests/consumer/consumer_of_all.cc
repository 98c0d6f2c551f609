// Links every component through the umbrella header.
#include <regard/regard.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> weights = {1, 0, 0.5, 0.5};
  regard::HeatMap map;
  map.values = regard::TensorView(weights.data(), {2, 2});
  map.row_labels = map.column_labels = {"a", "b"};
  const std::string svg = regard::HeatMapSvg(map, {});
  try {
    regard::Model::Load("/nonexistent");
  } catch (const regard::Error& error) {
    std::printf("%s\n", error.what());
    return svg.rfind("<svg", 200) != std::string::npos ? 0 : 1;
  }
  return 1;
}
