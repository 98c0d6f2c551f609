// The formats a picture can be written in.
#ifndef REGARD_SRC_RENDER_FORMAT_LIST_H_
#define REGARD_SRC_RENDER_FORMAT_LIST_H_

#include <span>
#include <string>

#include "render/scene.h"

namespace regard::inline v0 {

struct PictureFormat {
  const char* name;  // also the extension of its files
  std::string (*write)(const Scene& scene, const PictureOptions& options);
};

std::span<const PictureFormat> FormatList();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_FORMAT_LIST_H_
