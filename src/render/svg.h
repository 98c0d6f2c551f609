// A scene as SVG 1.1: real text, no scripts, nothing from outside the file.
#ifndef REGARD_SRC_RENDER_SVG_H_
#define REGARD_SRC_RENDER_SVG_H_

#include <string>

#include "render/scene.h"

namespace regard::inline v0 {

// More cells than this in one picture become images inside the file.
inline constexpr int64_t kMaxSvgCells = 100000;

std::string SceneToSvg(const Scene& scene, const PictureOptions& options);

// Text for XML: & < > " escaped, what XML 1.0 can't hold as U+FFFD.
std::string XmlEscaped(std::string_view text);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_SVG_H_
