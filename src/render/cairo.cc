#include "render/cairo.h"

#include <pango/pangocairo.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <numbers>

#include "render/colormap.h"
#include "render/png.h"

#ifdef REGARD_ADDRESS_SANITIZER
// Fontconfig keeps what it read of its configuration until the process ends.
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_suppressions() {
  return "leak:libfontconfig\n";
}
extern "C" __attribute__((visibility("default"))) const char*
__lsan_default_options() {
  return "print_suppressions=0";
}
#endif

namespace regard::inline v0 {

namespace {

constexpr int kMaxSide = 32767;       // of Cairo's image surfaces
constexpr double kMaxPixels = 100e6;  // 400 MB

template <auto kFree>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Surface = std::unique_ptr<cairo_surface_t, FreeBy<cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, FreeBy<cairo_destroy>>;
using Pattern = std::unique_ptr<cairo_pattern_t, FreeBy<cairo_pattern_destroy>>;
template <typename T>
using GObjectOf = std::unique_ptr<T, FreeBy<g_object_unref>>;
using Font =
    std::unique_ptr<PangoFontDescription, FreeBy<pango_font_description_free>>;
using FontOptions =
    std::unique_ptr<cairo_font_options_t, FreeBy<cairo_font_options_destroy>>;

void Check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(status == CAIRO_STATUS_NO_MEMORY ? ErrorKind::kMemory
                                               : ErrorKind::kUnsupported,
              "png", cairo_status_to_string(status));
}

Surface NewSurface(int width, int height) {
  Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  Check(cairo_surface_status(surface.get()));
  return surface;
}

uint32_t* PixelRow(cairo_surface_t* surface, int64_t row) {
  return reinterpret_cast<uint32_t*>(
      cairo_image_surface_get_data(surface) +
      row * cairo_image_surface_get_stride(surface));
}

void SetColor(cairo_t* cairo, Rgb color) {
  cairo_set_source_rgb(cairo, color.r / 255.0, color.g / 255.0,
                       color.b / 255.0);
}

// One pixel a cell, enlarged without smoothing; where cells are smaller than
// pixels their mean is drawn.
void Draw(cairo_t* cairo, const CellsItem& cells) {
  const Surface image =
      NewSurface(static_cast<int>(cells.columns), static_cast<int>(cells.rows));
  for (int64_t i = 0; i < cells.rows; ++i) {
    uint32_t* row = PixelRow(image.get(), i);
    for (int64_t j = 0; j < cells.columns; ++j) {
      const Rgb color = cells.colors[cells.Index(i, j)];
      row[j] = static_cast<uint32_t>(color.r) << 16 |
               static_cast<uint32_t>(color.g) << 8 | color.b;
    }
  }
  cairo_surface_mark_dirty(image.get());
  cairo_save(cairo);
  cairo_translate(cairo, cells.x, cells.y);
  cairo_scale(cairo, cells.cell_width, cells.cell_height);
  double width = 1, height = 1;
  cairo_user_to_device_distance(cairo, &width, &height);
  const Pattern pattern(cairo_pattern_create_for_surface(image.get()));
  cairo_pattern_set_filter(pattern.get(), std::min(width, height) >= 1
                                              ? CAIRO_FILTER_NEAREST
                                              : CAIRO_FILTER_GOOD);
  cairo_pattern_set_extend(pattern.get(), CAIRO_EXTEND_PAD);
  cairo_set_source(cairo, pattern.get());
  cairo_set_antialias(cairo, CAIRO_ANTIALIAS_NONE);
  cairo_rectangle(cairo, 0, 0, static_cast<double>(cells.columns),
                  static_cast<double>(cells.rows));
  cairo_fill(cairo);
  cairo_restore(cairo);
}

void Draw(cairo_t* cairo, const RectItem& rect) {
  cairo_rectangle(cairo, rect.x, rect.y, rect.width, rect.height);
  if (rect.fill) {
    SetColor(cairo, *rect.fill);
    cairo_fill_preserve(cairo);
  }
  if (rect.stroke) {
    SetColor(cairo, *rect.stroke);
    cairo_set_line_width(cairo, rect.stroke_width);
    cairo_stroke_preserve(cairo);
  }
  cairo_new_path(cairo);
}

void Draw(cairo_t* cairo, const LineItem& line) {
  SetColor(cairo, line.color);
  cairo_set_line_width(cairo, line.width);
  cairo_move_to(cairo, line.x1, line.y1);
  cairo_line_to(cairo, line.x2, line.y2);
  cairo_stroke(cairo);
}

Font FontOf(const TextItem& text) {
  std::string families;
  for (const char* name : kFontFamilies) {
    if (!families.empty()) families += ',';
    families += name;
  }
  Font font(pango_font_description_new());
  pango_font_description_set_family(font.get(), families.c_str());
  pango_font_description_set_absolute_size(font.get(), text.size * PANGO_SCALE);
  pango_font_description_set_weight(
      font.get(), text.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  return font;
}

// Text is drawn with a font map of its own picture: nothing is shared between
// threads, and nothing of it outlives the picture.
class TextPainter {
 public:
  TextPainter()
      : fonts_(pango_cairo_font_map_new()),
        context_(pango_font_map_create_context(fonts_.get())) {
    // Letters stand where the outline says, not on whole points.
    pango_context_set_round_glyph_positions(context_.get(), FALSE);
    // As in SVG: a label of Hebrew or Arabic doesn't turn what stands in it.
    pango_context_set_base_dir(context_.get(), PANGO_DIRECTION_LTR);
  }

  void Draw(cairo_t* cairo, const TextItem& text) const {
    cairo_save(cairo);
    cairo_translate(cairo, text.x, text.y);
    cairo_rotate(cairo, text.angle * std::numbers::pi / 180);
    pango_cairo_update_context(cairo, context_.get());
    const GObjectOf<PangoLayout> layout(pango_layout_new(context_.get()));
    pango_layout_set_font_description(layout.get(), FontOf(text).get());
    pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
    pango_layout_set_auto_dir(layout.get(), FALSE);
    pango_layout_set_text(layout.get(), text.text.data(),
                          static_cast<int>(text.text.size()));
    PangoRectangle extents;
    pango_layout_get_extents(layout.get(), nullptr, &extents);
    const double share = text.anchor == TextItem::Anchor::kStart    ? 0
                         : text.anchor == TextItem::Anchor::kMiddle ? 0.5
                                                                    : 1;
    SetColor(cairo, text.color);
    cairo_move_to(cairo, -share * extents.width / PANGO_SCALE,
                  -1.0 * pango_layout_get_baseline(layout.get()) / PANGO_SCALE);
    pango_cairo_show_layout(cairo, layout.get());
    cairo_restore(cairo);
  }

 private:
  GObjectOf<PangoFontMap> fonts_;
  GObjectOf<PangoContext> context_;
};

Surface Drawn(const Scene& scene, int width, int height, double scale) {
  Surface surface = NewSurface(width, height);
  const Context cairo(cairo_create(surface.get()));
  // Letters are placed as the scene is laid out, not rounded to pixels.
  const FontOptions options(cairo_font_options_create());
  cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options.get(), CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(cairo.get(), options.get());
  SetColor(cairo.get(), {255, 255, 255});
  cairo_paint(cairo.get());
  cairo_scale(cairo.get(), scale, scale);
  const TextPainter painter;
  for (const SceneItem& item : scene.items) {
    if (const auto* text = std::get_if<TextItem>(&item)) {
      painter.Draw(cairo.get(), *text);
    } else if (const auto* cells = std::get_if<CellsItem>(&item)) {
      Draw(cairo.get(), *cells);
    } else if (const auto* rect = std::get_if<RectItem>(&item)) {
      Draw(cairo.get(), *rect);
    } else {
      Draw(cairo.get(), std::get<LineItem>(item));
    }
  }
  Check(cairo_status(cairo.get()));
  cairo_surface_flush(surface.get());
  return surface;
}

// Whole, however large.
std::string Pixels(double count) {
  char digits[400];
  const auto end = std::to_chars(digits, digits + sizeof(digits), count,
                                 std::chars_format::fixed, 0);
  return std::string(digits, end.ptr);
}

void CheckSizes(const Scene& scene, double dpi, double width, double height) {
  if (!(dpi > 0) || !std::isfinite(dpi)) {
    throw Error(ErrorKind::kArgument, "png",
                "dpi " + ShortNumber(dpi) + " is not positive", "300 is usual");
  }
  if (std::max(width, height) > kMaxSide || width * height > kMaxPixels) {
    throw Error(ErrorKind::kSize, "png",
                Pixels(width) + " x " + Pixels(height) + " pixels at " +
                    ShortNumber(dpi) +
                    " dpi; at most 32767 a side and 100 million are drawn",
                "choose a lower dpi, fewer heads or tokens, or svg");
  }
  for (const SceneItem& item : scene.items) {
    const auto* cells = std::get_if<CellsItem>(&item);
    if (cells == nullptr || std::max(cells->rows, cells->columns) <= kMaxSide) {
      continue;
    }
    throw Error(ErrorKind::kSize, "png",
                std::to_string(cells->rows) + " x " +
                    std::to_string(cells->columns) +
                    " cells; at most 32767 a side are drawn",
                "choose fewer tokens, or svg");
  }
}

}  // namespace

std::string SceneToPng(const Scene& scene, const PictureOptions& options) {
  const double scale = options.dpi / 72;
  const double width = std::ceil(scene.width * scale - 1e-6);
  const double height = std::ceil(scene.height * scale - 1e-6);
  CheckSizes(scene, options.dpi, width, height);
  const Surface surface =
      Drawn(scene, static_cast<int>(width), static_cast<int>(height), scale);
  Provenance text = {{"Title", scene.title},
                     {"Description", scene.description}};
  text.insert(text.end(), options.provenance.begin(), options.provenance.end());
  const auto row = [&](int64_t i, uint8_t* rgb) {
    const uint32_t* pixels = PixelRow(surface.get(), i);
    for (int64_t j = 0; j < static_cast<int64_t>(width); ++j) {
      *rgb++ = static_cast<uint8_t>(pixels[j] >> 16);
      *rgb++ = static_cast<uint8_t>(pixels[j] >> 8);
      *rgb++ = static_cast<uint8_t>(pixels[j]);
    }
  };
  return EncodePng(static_cast<int64_t>(width), static_cast<int64_t>(height),
                   row, options.dpi, text);
}

}  // namespace regard::inline v0
