#include "base/utf8.h"

namespace regard::inline v0 {

namespace {

struct LeadByte {
  int continuations;          // bytes that follow; -1: no lead byte
  unsigned char first, last;  // range of the first one
};

// The rows of table 3-7 of the Unicode standard.
LeadByte Classify(unsigned char byte) {
  if (byte < 0x80) return {0, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {-1, 0, 0};
}

}  // namespace

char32_t NextCodePoint(std::string_view text, size_t& position) {
  const auto byte = static_cast<unsigned char>(text[position++]);
  LeadByte lead = Classify(byte);
  if (lead.continuations < 0) return kReplacementCharacter;
  if (lead.continuations == 0) return byte;
  char32_t c = byte & (0x3F >> lead.continuations);
  for (int i = 0; i < lead.continuations; ++i) {
    if (position == text.size()) return kReplacementCharacter;
    const auto next = static_cast<unsigned char>(text[position]);
    if (next < lead.first || next > lead.last) return kReplacementCharacter;
    c = c << 6 | (next & 0x3F);
    ++position;
    lead.first = 0x80;
    lead.last = 0xBF;
  }
  return c;
}

void AppendUtf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacementCharacter;
  const auto byte = [&](char32_t value) { out += static_cast<char>(value); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6);
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3F));
    byte(0x80 | (c >> 6 & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

}  // namespace regard::inline v0
