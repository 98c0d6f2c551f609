// PNG (ISO/IEC 15948): a signature, then chunks of length, type, data, CRC.
#include "render/png.h"

#include <zlib.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace regard::inline v0 {

namespace {

void AppendBigEndian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift & 0xFF);
  }
}

void AppendChunk(std::string& out, std::string_view type,
                 std::string_view data) {
  AppendBigEndian(out, static_cast<uint32_t>(data.size()));
  const size_t begin = out.size();
  out += type;
  out += data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(out.data() + begin),
                          static_cast<uInt>(out.size() - begin));
  AppendBigEndian(out, static_cast<uint32_t>(crc));
}

// A deflate stream whose output becomes IDAT chunks.
class PixelStream {
 public:
  explicit PixelStream(std::string& out) : out_(out), buffer_(1 << 16) {
    // Level 6 of flat areas is quick: nearly everything is a long match.
    if (deflateInit(&stream_, 6) != Z_OK) {
      throw Error(ErrorKind::kMemory, "png", "no memory for compression");
    }
  }
  ~PixelStream() { deflateEnd(&stream_); }
  PixelStream(const PixelStream&) = delete;
  PixelStream& operator=(const PixelStream&) = delete;

  void Write(const std::vector<uint8_t>& bytes, bool last) {
    stream_.next_in = const_cast<Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      status = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      const size_t size = buffer_.size() - stream_.avail_out;
      if (size > 0) {
        AppendChunk(out_, "IDAT",
                    {reinterpret_cast<const char*>(buffer_.data()), size});
      }
    } while (stream_.avail_out == 0 || (last && status != Z_STREAM_END));
  }

 private:
  std::string& out_;
  std::vector<Bytef> buffer_;
  z_stream stream_ = {};
};

// Filters chosen for flat areas: "up" turns a row equal to the one above into
// zeros, "sub" turns runs of one colour into zeros.
void FilterRow(const std::vector<uint8_t>& pixels,
               const std::vector<uint8_t>& above,
               std::vector<uint8_t>& filtered) {
  if (pixels == above) {
    filtered.assign(pixels.size() + 1, 0);
    filtered[0] = 2;
    return;
  }
  filtered[0] = 1;
  for (size_t i = 0; i < pixels.size(); ++i) {
    const uint8_t left = i < 3 ? uint8_t{0} : pixels[i - 3];
    filtered[i + 1] = static_cast<uint8_t>(pixels[i] - left);
  }
}

// 1 to 79 printable characters.
std::string Keyword(std::string_view name) {
  std::string keyword;
  for (const char c : name.substr(0, 79)) {
    keyword += c > 0x20 && c < 0x7F ? c : '_';
  }
  return keyword.empty() ? "text" : keyword;
}

std::string WellFormedText(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = NextCodePoint(text, i);
    AppendUtf8(out, c == 0 ? kReplacementCharacter : c);
  }
  return out;
}

}  // namespace

std::string EncodePng(int64_t width, int64_t height, const PngRow& row,
                      std::optional<double> dpi, const Provenance& text) {
  std::string out = "\x89PNG\r\n\x1a\n";
  std::string header;
  AppendBigEndian(header, static_cast<uint32_t>(width));
  AppendBigEndian(header, static_cast<uint32_t>(height));
  header += {8, 2, 0, 0, 0};  // bits, true colour, the only methods
  AppendChunk(out, "IHDR", header);
  if (dpi) {
    std::string resolution;
    const auto per_meter = static_cast<uint32_t>(std::lround(*dpi / 0.0254));
    AppendBigEndian(resolution, per_meter);
    AppendBigEndian(resolution, per_meter);
    resolution += '\1';
    AppendChunk(out, "pHYs", resolution);
  }
  for (const auto& [name, value] : text) {
    // Keyword, not compressed, no language, no translated keyword.
    AppendChunk(out, "iTXt",
                Keyword(name) + std::string(5, '\0') + WellFormedText(value));
  }
  PixelStream stream(out);
  const size_t row_bytes = static_cast<size_t>(width) * 3;
  std::vector<uint8_t> pixels(row_bytes), above(row_bytes);
  std::vector<uint8_t> filtered(row_bytes + 1);
  for (int64_t i = 0; i < height; ++i) {
    row(i, pixels.data());
    FilterRow(pixels, above, filtered);
    stream.Write(filtered, i + 1 == height);
    std::swap(pixels, above);
  }
  AppendChunk(out, "IEND", "");
  return out;
}

}  // namespace regard::inline v0
