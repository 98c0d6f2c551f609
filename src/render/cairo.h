// A scene through Cairo, its text through Pango.
#ifndef REGARD_SRC_RENDER_CAIRO_H_
#define REGARD_SRC_RENDER_CAIRO_H_

#include <string>

#include "render/scene.h"

namespace regard::inline v0 {

// Error (kArgument) for a dpi that isn't positive, (kSize) naming the size for
// a picture larger than Cairo's 32,767 pixels a side or 100 million in all,
// (kMemory).
std::string SceneToPng(const Scene& scene, const PictureOptions& options);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_CAIRO_H_
