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

// In a format by its name; Error (kUsage) naming the known ones.
std::string ScenePicture(const std::string& name, const Scene& scene,
                         const PictureOptions& options);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_RENDER_FORMAT_LIST_H_
