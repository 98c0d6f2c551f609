#include "render/svg.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "render/png.h"

namespace regard::inline v0 {

namespace {

// Two decimals at most: 1/100 pt is below any screen or printer.
std::string Number(double value) {
  char buffer[64];
  const double rounded = std::round(value * 100) / 100 + 0.0;
  char* end = std::to_chars(buffer, buffer + sizeof(buffer), rounded,
                            std::chars_format::fixed)
                  .ptr;
  std::string text(buffer, end);
  if (text == "-0") return "0";
  if (text.starts_with("0.")) text.erase(0, 1);
  if (text.starts_with("-0.")) text.erase(1, 1);
  return text;
}

std::string Attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + std::string(value) + '"';
}

std::string Attribute(const char* name, double value) {
  return Attribute(name, Number(value));
}

// #08306b, or #abc where that says the same.
std::string Hex(Rgb color) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const bool is_short =
      color.r % 17 == 0 && color.g % 17 == 0 && color.b % 17 == 0;
  std::string text = "#";
  for (const uint8_t channel : {color.r, color.g, color.b}) {
    text += kDigits[channel >> 4];
    if (!is_short) text += kDigits[channel & 15];
  }
  return text;
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t given = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      const uint32_t byte =
          j < given ? static_cast<unsigned char>(bytes[i + j]) : 0;
      group = group << 8 | byte;
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= given ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

// Programs that smooth images in spite of what the file asks for blur no more
// than one pixel: small cells get several each.
int64_t PixelsPerCell(const CellsItem& cells) {
  constexpr int64_t kEnoughPixels = 1600;
  return std::clamp<int64_t>(
      kEnoughPixels / std::max(cells.rows, cells.columns), 1, 4);
}

void AppendImage(std::string& out, const CellsItem& cells) {
  const int64_t pixels = PixelsPerCell(cells);
  const auto row = [&](int64_t i, uint8_t* rgb) {
    for (int64_t j = 0; j < pixels * cells.columns; ++j) {
      const Rgb color = cells.colors[cells.Index(i / pixels, j / pixels)];
      *rgb++ = color.r;
      *rgb++ = color.g;
      *rgb++ = color.b;
    }
  };
  out +=
      "<image" + Attribute("x", cells.x) + Attribute("y", cells.y) +
      Attribute("width",
                cells.cell_width * static_cast<double>(cells.columns)) +
      Attribute("height", cells.cell_height * static_cast<double>(cells.rows)) +
      " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
      "href=\"data:image/png;base64," +
      Base64(EncodePng(pixels * cells.columns, pixels * cells.rows, row)) +
      "\"/>\n";
}

// A box of `length` cells; the pen ends below its first corner.
std::string Box(int64_t length) {
  const std::string width = std::to_string(length);
  return 'h' + width + "v1h-" + width;
}

// Boxes of one colour as path data, each reached from the one before or from
// the origin, whichever is shorter to write.
struct ColorPath {
  std::string data;
  int64_t x = 0, y = 0;  // of the pen

  void Add(int64_t column, int64_t row, int64_t length) {
    const std::string to =
        'M' + std::to_string(column) + ' ' + std::to_string(row);
    const std::string by = 'm' + std::to_string(column - x) +
                           (row < y ? "" : " ") + std::to_string(row - y);
    data += by.size() < to.size() && !data.empty() ? by : to;
    data += Box(length);
    x = column;
    y = row + 1;
  }
};

// One path per colour, runs of equal cells as one box.
void AppendRuns(std::string& out, const CellsItem& cells) {
  std::map<uint32_t, ColorPath> paths;
  for (int64_t i = 0; i < cells.rows; ++i) {
    for (int64_t j = 0; j < cells.columns;) {
      const Rgb color = cells.colors[cells.Index(i, j)];
      const int64_t begin = j;
      while (j < cells.columns && cells.colors[cells.Index(i, j)] == color) {
        ++j;
      }
      if (color == cells.ground) continue;
      const uint32_t key = static_cast<uint32_t>(color.r) << 16 |
                           static_cast<uint32_t>(color.g) << 8 | color.b;
      paths[key].Add(begin, i, j - begin);
    }
  }
  for (const auto& [key, path] : paths) {
    const Rgb color = {static_cast<uint8_t>(key >> 16),
                       static_cast<uint8_t>(key >> 8 & 255),
                       static_cast<uint8_t>(key & 255)};
    out += "<path" + Attribute("fill", Hex(color)) + Attribute("d", path.data) +
           "/>\n";
  }
}

void AppendHoverCells(std::string& out, const CellsItem& cells) {
  for (int64_t i = 0; i < cells.rows; ++i) {
    for (int64_t j = 0; j < cells.columns; ++j) {
      const size_t index = cells.Index(i, j);
      out += "<path" + Attribute("fill", Hex(cells.colors[index])) +
             Attribute("d", 'M' + std::to_string(j) + ' ' + std::to_string(i) +
                                Box(1)) +
             "><title>" + XmlEscaped(cells.hover[index]) + "</title></path>\n";
    }
  }
}

// In units of cells, so that a cell is written as whole numbers.
void AppendCells(std::string& out, const CellsItem& cells) {
  std::string scale = Number(cells.cell_width);
  if (cells.cell_width != cells.cell_height) {
    char buffer[32];  // more decimals: rounding adds up over the rows
    const auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), cells.cell_height,
                      std::chars_format::general, 6);
    scale += ' ' + std::string(buffer, end.ptr);
  }
  out += "<g" +
         Attribute("transform", "translate(" + Number(cells.x) + ' ' +
                                    Number(cells.y) + ")scale(" + scale + ")") +
         Attribute("shape-rendering", "crispEdges") + ">\n";
  if (cells.hover.empty()) {
    AppendRuns(out, cells);
  } else {
    AppendHoverCells(out, cells);
  }
  out += "</g>\n";
}

void AppendRect(std::string& out, const RectItem& rect) {
  out += "<rect" + Attribute("x", rect.x) + Attribute("y", rect.y) +
         Attribute("width", rect.width) + Attribute("height", rect.height) +
         Attribute("fill", rect.fill ? Hex(*rect.fill) : "none");
  if (rect.stroke) {
    out += Attribute("stroke", Hex(*rect.stroke)) +
           Attribute("stroke-width", rect.stroke_width);
  }
  if (rect.hover.empty()) {
    out += rect.fill ? "/>\n" : " pointer-events=\"none\"/>\n";
    return;
  }
  // An empty box, too, shows its text.
  out += " pointer-events=\"all\"><title>" + XmlEscaped(rect.hover) +
         "</title></rect>\n";
}

// Lines of one style as one path.
void AppendLines(std::string& out, std::span<const SceneItem> items) {
  const auto& style = std::get<LineItem>(items.front());
  std::string path;
  for (const SceneItem& item : items) {
    const auto& line = std::get<LineItem>(item);
    path += 'M' + Number(line.x1) + ' ' + Number(line.y1);
    if (line.y1 == line.y2) {
      path += 'H' + Number(line.x2);
    } else if (line.x1 == line.x2) {
      path += 'V' + Number(line.y2);
    } else {
      path += 'L' + Number(line.x2) + ' ' + Number(line.y2);
    }
  }
  // Not in the way of the pointer: cells below show their values.
  out += "<path" + Attribute("stroke", Hex(style.color)) +
         Attribute("stroke-width", style.width) +
         " fill=\"none\" pointer-events=\"none\"" + Attribute("d", path) +
         "/>\n";
}

std::string TextStyle(const TextItem& text) {
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  std::string style =
      Attribute("font-size", text.size) + Attribute("fill", Hex(text.color));
  if (text.anchor != TextItem::Anchor::kStart) {
    style +=
        Attribute("text-anchor", kAnchors[static_cast<size_t>(text.anchor)]);
  }
  if (text.bold) style += Attribute("font-weight", "bold");
  return style;
}

// Texts of one style in one group.
void AppendTexts(std::string& out, std::span<const SceneItem> items) {
  out += "<g" + TextStyle(std::get<TextItem>(items.front())) +
         " pointer-events=\"none\">\n";
  for (const SceneItem& item : items) {
    const auto& text = std::get<TextItem>(item);
    out += "<text";
    if (text.angle == 0) {
      out += Attribute("x", text.x) + Attribute("y", text.y);
    } else {
      out += Attribute("transform", "translate(" + Number(text.x) + ' ' +
                                        Number(text.y) + ")rotate(" +
                                        Number(text.angle) + ")");
    }
    out += '>' + XmlEscaped(text.text) + "</text>\n";
  }
  out += "</g>\n";
}

// Items [begin, end) of one kind and style.
size_t SameStyleEnd(const std::vector<SceneItem>& items, size_t begin) {
  size_t end = begin + 1;
  for (; end < items.size(); ++end) {
    if (items[end].index() != items[begin].index()) break;
    if (const auto* line = std::get_if<LineItem>(&items[begin])) {
      if (!line->SameStyle(std::get<LineItem>(items[end]))) break;
    } else if (const auto* text = std::get_if<TextItem>(&items[begin])) {
      if (!text->SameStyle(std::get<TextItem>(items[end]))) break;
    } else {
      break;
    }
  }
  return end;
}

void AppendItems(std::string& out, const Scene& scene) {
  int64_t cells = 0;
  for (const SceneItem& item : scene.items) {
    if (const auto* matrix = std::get_if<CellsItem>(&item)) {
      cells += matrix->rows * matrix->columns;
    }
  }
  for (size_t i = 0; i < scene.items.size();) {
    const size_t end = SameStyleEnd(scene.items, i);
    const std::span<const SceneItem> same(&scene.items[i], end - i);
    if (const auto* matrix = std::get_if<CellsItem>(&scene.items[i])) {
      if (cells > kMaxSvgCells) {
        AppendImage(out, *matrix);
      } else {
        AppendCells(out, *matrix);
      }
    } else if (const auto* rect = std::get_if<RectItem>(&scene.items[i])) {
      AppendRect(out, *rect);
    } else if (std::holds_alternative<LineItem>(scene.items[i])) {
      AppendLines(out, same);
    } else {
      AppendTexts(out, same);
    }
    i = end;
  }
}

std::string FontFamilies() {
  std::string families;
  for (const std::string_view name : kFontFamilies) {
    if (!families.empty()) families += ',';
    const bool quoted = name.find(' ') != std::string_view::npos;
    families += quoted ? "'" + std::string(name) + "'" : std::string(name);
  }
  return families;
}

std::string Metadata(const Provenance& provenance) {
  if (provenance.empty()) return "";
  std::string out = "<metadata><provenance xmlns=\"urn:regard:provenance\">\n";
  for (const auto& [name, value] : provenance) {
    out += "<item" + Attribute("name", XmlEscaped(name)) + '>' +
           XmlEscaped(value) + "</item>\n";
  }
  return out + "</provenance></metadata>\n";
}

}  // namespace

std::string XmlEscaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const char32_t c = NextCodePoint(text, i);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\t':
      case '\n':
      case '\r':
        out += "&#" + std::to_string(static_cast<int>(c)) + ';';
        break;
      default:
        AppendUtf8(out, c < 0x20 || c == 0xFFFE || c == 0xFFFF
                            ? kReplacementCharacter
                            : c);
    }
  }
  return out;
}

std::string SceneToSvg(const Scene& scene, const PictureOptions& options) {
  const std::string width = Number(scene.width);
  const std::string height = Number(scene.height);
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\"" +
      Attribute("width", width + "pt") + Attribute("height", height + "pt") +
      Attribute("viewBox", "0 0 " + width + ' ' + height) +
      Attribute("font-family", FontFamilies()) +
      " xml:space=\"preserve\" role=\"img\" aria-labelledby=\"t d\">\n";
  out += "<title id=\"t\">" + XmlEscaped(scene.title) + "</title>\n";
  out += "<desc id=\"d\">" + XmlEscaped(scene.description) + "</desc>\n";
  out += Metadata(options.provenance);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  AppendItems(out, scene);
  return out + "</svg>\n";
}

}  // namespace regard::inline v0
